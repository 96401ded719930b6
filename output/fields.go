package output

import (
	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/streamload"
)

func targetFields(dialect string) []*service.ConfigField {
	return []*service.ConfigField{
		service.NewStringAnnotatedEnumField(fieldDialect, map[string]string{
			streamload.DialectDoris:     "Apache Doris.",
			streamload.DialectStarRocks: "StarRocks, from 3.0 on. The output `starrocks_stream_load` is this one with that as the default.",
		}).
			Description("Whose servers are loaded into. Both ignore headers that they do not know, without a word, so fields that one of them lacks are refused with it.").
			Default(dialect).
			LintRule(dialectLint),
		service.NewURLListField(fieldFEURLs).
			Description("Addresses of the frontends (FE) with their HTTP port, for instance `http://fe1:8030`. An entry may hold several, separated by commas. Each load starts at a different one, and those that are down are passed over.").
			Default([]any{}).
			Example([]any{"http://fe1:8030", "http://fe2:8030"}).
			LintRule(addressesLint(fieldFEURLs)),
		service.NewURLField(fieldURL).
			Description("The address of a single frontend. Not used when `fe_urls` is set.").
			Default("").
			Example("http://localhost:8030").
			LintRule(addressLint),
		service.NewInterpolatedStringField(fieldDatabase).
			Description("The database. It can depend on the message; a message for which it is empty or `null` fails.").
			Example("shop").
			Example(`${! meta("database") }`).
			LintRule(nameLint(fieldDatabase)),
		service.NewInterpolatedStringField(fieldTable).
			Description("The table. It can depend on the message: a batch becomes one load for each table, and each message gets the result of its own. A message for which it is empty or `null` fails. In the middle of a name a missing field becomes the text `null` unseen; `not_null()` makes such a message fail too.").
			Example("orders").
			Example("${! this.type }").
			Example("events_${! this.type.not_null() }").
			LintRule(nameLint(fieldTable)),
	}
}

func connectionFields() []*service.ConfigField {
	return []*service.ConfigField{
		service.NewStringField(fieldUsername).
			Description("The user, who needs the privilege to load into the table. It is sent to the frontends, and to the backends (BE) that they send us to.").
			Default("root").
			LintRule(usernameLint),
		service.NewStringField(fieldPassword).
			Description("The password of the user.").
			Default("").
			Secret(),
		service.NewTLSToggledField(fieldTLS).
			Description("Settings for addresses that begin with `https`. Without them such addresses work with the certificates of the system."),
		service.NewBoolField(fieldAllowInsecureRedirect).
			Description("Follow a frontend with `https` that sends us to a backend with plain `http`. Rows and password then travel in clear text, so such a load fails unless this is set.").
			Default(false).
			Advanced(),
		service.NewURLListField(fieldBEURLs).
			Description("Addresses of backends (BE) with their HTTP port, for instance `http://be1:8040`. Loads then go straight to them, in turn, and frontends are asked for the state of labels only. For networks in which the addresses that frontends name cannot be reached; the list is yours to keep right.").
			Default([]any{}).
			Example([]any{"http://be1:8040", "http://be2:8040"}).
			LintRule(addressesLint(fieldBEURLs)).
			Advanced(),
		service.NewStringAnnotatedEnumField(fieldRedirectPolicy, map[string]string{
			"":               "The frontend decides.",
			"direct":         "The address in the cluster's own list of backends.",
			"public":         "The public endpoint of the backend's tags.",
			"private":        "The private endpoint of the backend's tags.",
			"public-private": "One of the two, by the address under which the frontend was asked.",
			"random-be":      "The same as direct.",
		}).
			Description("By which of its addresses a frontend names a backend, from Doris 3.1 on.").
			Default("").
			LintRule(redirectPolicyLint).
			Advanced(),
		service.NewStringMapField(fieldRedirectMap).
			Description("How the servers are reached that frontends name: `host:port` as the frontend says it, to `host:port` as seen from here; or host to host, with the port kept.").
			Default(map[string]any{}).
			Example(map[string]any{"172.20.80.3:8040": "localhost:8040"}).
			LintRule(redirectMapLint).
			Advanced(),
		service.NewIntField(fieldQueryPort).
			Description("Accepted so that configs written for Redpanda Connect run unchanged, and not used: everything goes over the HTTP port.").
			Default(9030).
			Advanced(),
	}
}

func loadFields() []*service.ConfigField {
	return []*service.ConfigField{
		service.NewStringListField(fieldColumns).
			Description("The columns in the order of the cells of CSV or of `jsonpaths`, and columns that are computed. Each entry goes into the header `columns` as it is.").
			Default([]any{}).
			LintRule(listLint(fieldColumns)).
			Example([]any{"id", "name", "ts"}).
			Example([]any{"id", "tmp", "ts = from_unixtime(tmp)"}),
		service.NewStringField(fieldWhere).
			Description("A condition in SQL. Rows that do not meet it are not stored; they are acknowledged all the same, and counted as `unselected`.").
			Default("").
			Example("id > 0").
			Advanced(),
		service.NewFloatField(fieldMaxFilterRatio).
			Description("The share of rows, from 0 to 1, that Doris may drop because they do not fit the table. The dropped rows are acknowledged, counted and warned about. Not set, nothing is sent and Doris allows none.").
			Optional().
			// The first one ends up in the configs that "create" writes, so it must not allow anything.
			Examples(0, 0.01).
			LintRule(maxFilterRatioLint),
		service.NewBoolField(fieldIsolateBadRows).
			Description("When Doris refuses a load for rows that do not fit the table, find these rows, store the others, and fail each bad row by itself with what Doris says about it. The rows are found on the error page of the load, or by loading smaller and smaller groups: about k*log2(n/k) + 2k loads for k bad rows of n, at most 300. Without it the whole load fails. With `max_filter_ratio` a group that keeps within it is stored, and what Doris drops of it is acknowledged.").
			Default(false),
		service.NewBoolField(fieldStrictMode).
			Description("Refuse a row with a value that cannot be converted to the type of its column, instead of storing NULL there.").
			Default(false),
		service.NewStringListField(fieldPartitions).
			Description("Load into these partitions only. Rows of other partitions count as refused.").
			Default([]any{}).
			LintRule(listLint(fieldPartitions)).
			Example([]any{"p202401", "p202402"}).
			Advanced(),
		service.NewStringListField(fieldTemporaryPartitions).
			Description("Load into these temporary partitions only. Not together with `partitions`.").
			Default([]any{}).
			LintRule(listLint(fieldTemporaryPartitions)).
			Advanced(),
		service.NewStringField(fieldTimezone).
			Description("The time zone of time functions in `columns` and `where`. Not set, that of the cluster.").
			Default("").
			Example("Asia/Shanghai").
			Advanced(),
		service.NewIntField(fieldExecMemLimit).
			Description("How much memory a load may take at the server, in bytes. 0 is the server's default.").
			Default(0).
			LintRule(execMemLimitLint).
			Advanced(),
		service.NewStringMapField(fieldHeaders).
			Description("More headers of Stream Load, for what has no field of its own, such as `load_to_single_tablet`. A header that a field of this output sends, and one that decides under which label rows are stored, is refused.").
			Default(map[string]any{}).
			Example(map[string]any{"load_to_single_tablet": "true", "send_batch_parallelism": "4"}).
			LintRule(headersLint).
			Advanced(),
		service.NewStringAnnotatedEnumField(fieldGroupCommit, map[string]string{
			"":               "The same as off_mode.",
			groupCommitOff:   "Each load is a transaction under a label of its own.",
			groupCommitSync:  "Doris joins loads of several clients into one, and answers when that one is committed.",
			groupCommitAsync: "Doris joins loads of several clients into one, and answers when the rows are in its write-ahead log.",
		}).
			Description("Let Doris join small loads into larger ones. **With it the labels are made by Doris**: when an answer is lost nobody can tell whether the rows are stored, and such messages are failed with that reason and may be stored twice if they are delivered again. Large batches without group commit are faster and safer. StarRocks calls it merge commit, has it from 3.4 on, and only `sync_mode` can be used with it here: in its other mode it answers before anything is stored.").
			Default("").
			LintRule(groupCommitLint).
			Advanced(),
		service.NewStringAnnotatedEnumField(fieldOnUnknownOutcome, map[string]string{
			unknownRetry:  "The messages are failed. When they are delivered again they are loaded again, and are then stored twice if the first load was committed.",
			unknownReject: "The messages are failed, and failed again without being sent when they are delivered again: each row is stored once or not at all. Use `fallback`, which takes them to a dead letter the first time.",
		}).
			Description("What becomes of the messages of a load of which it is not known whether it is stored and, with `group_commit`, nobody can be asked: the connection was lost after the rows were sent, no answer came in time, a proxy answered, or Doris failed in a way that leaves it open (classes `timeout`, `unavailable` and `unknown`). `reject` remembers such rows in `ledger`, by their bytes, within its limits and until the process ends; rows with the same bytes that come from elsewhere in that time are failed too. Without `group_commit` the label tells, and this has no use.").
			Default(unknownRetry).
			LintRule(unknownOutcomeLint).
			Advanced(),
		service.NewStringField(fieldMergeCommitInterval).
			Description("With `dialect: starrocks` and `group_commit: sync_mode`: for how long StarRocks collects loads before it commits them. It takes whole milliseconds.").
			Default("1s").
			LintRule(positiveLint(fieldMergeCommitInterval)).
			Advanced(),
		service.NewIntField(fieldMergeCommitParallel).
			Description("With `dialect: starrocks` and `group_commit: sync_mode`: how many backends collect loads.").
			Default(3).
			LintRule(mergeCommitParallelLint).
			Advanced(),
		service.NewBoolField(fieldTwoPhaseCommit).
			Description("Store each load in two phases: the rows are loaded, the counts that Doris gives are checked against what was sent, and only then the load is committed. What is counted wrong is aborted instead, and sent again. It costs a request more for each load.").
			Default(false).
			Advanced(),
	}
}
