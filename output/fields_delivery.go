package output

import (
	"github.com/redpanda-data/benthos/v4/public/service"
)

func labelFields() []*service.ConfigField {
	return []*service.ConfigField{
		service.NewStringField(fieldLabelPrefix).
			Description("What the label of every load begins with. Use a different one for each pipeline, to tell their loads apart in Doris. Characters that a label must not have become `_`, and it is cut where the label would get too long.").
			Default("benthos"),
		service.NewInterpolatedStringField(fieldLabel).
			Description("What identifies a batch: something that is the same when the input delivers the batch again, and different for every other batch, for instance topic, partition and offset. It is evaluated over the messages of one load, at the first of them. The label is then made of `label_prefix`, this, and a hash of the rows, and a load that was committed before the process ended is not loaded again afterwards, as long as the input forms the same batches. Two batches of the same identity with exactly the same rows are taken for one. Empty, labels are random.").
			Default("").
			Example(`${! meta("kafka_topic") }-${! meta("kafka_partition") }-${! meta("kafka_offset") }`),
		service.NewBoolField(fieldAbortLingering).
			Description("With `two_phase_commit`: look, once, before the first load, for transactions that an earlier process has left behind when it died, and abort them. Otherwise Doris does that after an hour (`stream_load_default_precommit_timeout_second`), and until then changes of the table's schema wait. What is looked for are transactions of `database` that are not committed yet and have a label of `label_prefix` and a random part, **so each pipeline that runs at the same time needs a `label_prefix` of its own**: loads of others with the same prefix are aborted too, and then sent again by them. Each one is logged. Where transactions cannot be looked up, there is a warning and the pipeline starts. The account needs the LOAD privilege on the database and has to be let in from the FE itself, which asks under its name; in cloud mode some versions show no transactions. Not with a `database` that depends on the messages, nor with `label`, where the batch itself takes the place of what it left.").
			Default(false).
			Advanced(),
		service.NewObjectField(fieldLedger,
			service.NewIntField(fieldMaxRows).
				Description("How many rows of such loads are remembered, at about 50 bytes of memory each. A load that does not fit drives out the oldest ones, with a warning.").
				Default(1_000_000).
				LintRule(maxRowsLint).
				Advanced(),
			service.NewDurationField(fieldMaxAge).
				Description("How long such a load is remembered, with a warning when it is forgotten; 0s sets no bound. Time in which no frontend can be reached does not count. It should be longer than it takes the input to deliver again. Doris itself forgets a label after 12 hours.").
				Default("1h").
				LintRule(boundLint(fieldLedger+"."+fieldMaxAge)).
				Advanced(),
		).Description("What is remembered, in memory, of loads whose outcome was unknown when their messages were failed. Messages with the same content that come again are looked up there first: those that turn out to be stored are acknowledged and not loaded a second time. What is stored of a batch that has to come again as a whole is remembered there too, for a few minutes, and these limits also bound what is remembered of messages that failed alone. Without `label` this ends with the process. With `group_commit` Doris makes the labels, and a load whose outcome is unknown cannot be looked up.").Advanced(),
	}
}

func paceFields() []*service.ConfigField {
	return []*service.ConfigField{
		service.NewIntField(fieldMaxRetries).
			Description("How often a load is sent again after the first time. 0 and -1 both mean never. Asking for the state of a label does not count.").
			Default(3).
			LintRule(maxRetriesLint),
		backoffField(fieldBackoff, "500ms", "10s", "10m",
			"How long to wait before a load is sent again. Each wait is twice the one before, shortened by chance by up to a half.",
			"The time after the start of a load in which it may be sent again; 0s sets no bound."),
		backoffField(fieldLabelPoll, "200ms", "5s", "5m",
			"How often to ask for the state of a label when it is not known what became of a load.",
			"How long to go on asking while the load is still running; 0s sets no bound. A label that is still open then is cancelled, or failed with its outcome unknown."),
		service.NewDurationField(fieldTimeout).
			Description("The time that Doris has for one load, at least 1s; it is sent in whole seconds, rounded up. The output itself waits a little longer, so that Doris gives up first and says why. Keep `shutdown_timeout` of the pipeline larger than this, or loads are cut off when it stops.").
			Default("5m").
			Example("30s").
			LintRule(positiveLint(fieldTimeout)),
		service.NewDurationField(fieldConnectTimeout).
			Description("How long it may take to open a connection, and the same again for TLS.").
			Default("10s").
			LintRule(positiveLint(fieldConnectTimeout)).
			Advanced(),
		service.NewIntField(fieldMaxInFlight).
			Description("How many loads may run at the same time. With 1, batches are loaded one after the other, each by itself, in their order.").
			Default(8).
			LintRule(maxInFlightLint),
		service.NewDurationField(fieldLinger).
			Description("How long a load may wait for more rows. What comes to an idle table is loaded at once. The next load into that table begins this much later, with all that has come by then: batches of the input are joined, and each gets its own result. It begins earlier when it has `max_load_rows`, `max_load_bytes` or half of `max_pending`, and later while `max_in_flight` loads are busy. With `0s` loads wait for nothing but that. Nothing is joined with `batching`, with `label`, with `skip_lines` or with `max_in_flight: 1`.").
			Default("1s").
			Example("0s").
			Example("5s").
			LintRule(notNegativeLint(fieldLinger)),
		service.NewIntField(fieldMaxPending).
			Description("How many batches of the input may be on their way, in loads or waiting for one, where they are joined. It bounds memory; where the input gives single messages it also bounds how many rows a load has, so raise it for more rows a second (each costs a few KB). Below `max_in_flight` it bounds loads too.").
			Default(1024).
			LintRule(maxPendingLint).
			Advanced(),
		service.NewIntField(fieldMaxLoadBytes).
			Description("How many bytes one load may have, before compression. A larger batch becomes several loads, one after the other, each with a label and a result of its own; a message that is larger alone fails. The default is below what a backend takes of a JSON array (`streaming_load_json_max_mb`); 0 sets no bound. Not used with `skip_lines`.").
			Default(90 << 20).
			LintRule(maxLoadBytesLint).
			Advanced(),
		service.NewIntField(fieldMaxLoadRows).
			Description("How many rows one load may have, as `max_load_bytes`; 0 sets no bound.").
			Default(0).
			LintRule(maxLoadRowsLint).
			Advanced(),
		service.NewBatchPolicyField(fieldBatching),
	}
}

// backoffField is the object that Benthos has for this too (service.NewBackOffField), with words of its own about each part.
func backoffField(name, initial, most, elapsed, what, bound string) *service.ConfigField {
	return service.NewObjectField(name,
		service.NewDurationField(fieldInitialInterval).
			Description("The first wait.").
			Default(initial).
			LintRule(positiveLint(name+"."+fieldInitialInterval)).
			Advanced(),
		service.NewDurationField(fieldMaxInterval).
			Description("The longest wait.").
			Default(most).
			LintRule(positiveLint(name+"."+fieldMaxInterval)).
			Advanced(),
		service.NewDurationField(fieldMaxElapsedTime).
			Description(bound).
			Default(elapsed).
			LintRule(boundLint(name+"."+fieldMaxElapsedTime)).
			Advanced(),
	).Description(what).Advanced()
}
