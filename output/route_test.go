package output

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

func TestBadMessagesFailAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, row, want string }{
		{"empty", "", "the message is empty"},
		{"white space", " \n ", "the message is only white space"},
		{"number", "42", "the message is a JSON number"},
		{"string", `"x"`, "the message is a JSON string"},
		{"null", "null", "the message is a JSON null"},
		{"array", `[{"id":1}]`, "the message is a JSON array"},
		{"two documents", `{"id":1}{"id":2}`, "more than one JSON document"},
		{"two lines", "{\"id\":1}\n{\"id\":2}", "more than one JSON document"},
		{"cut", `{"id":1`, "cut off"},
		{"text", "hello", "not a JSON object"},
		{"invalid UTF-8", "{\"id\":\"\xff\"}", "not valid UTF-8"},
		{"byte order mark", "\ufeff{\"id\":1}", "byte order mark"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := cluster(t, emulator.Options{})
			b := build(t, fields(e.FEURL(), target))
			batch := batchOf(`{"id":7}`, c.row, `{"id":8}`)
			got, err := write(within(t), t, b, batch)
			require.Len(t, got, 1)
			require.Contains(t, got[1], "data_quality: the message cannot be loaded into d.t: ")
			require.Contains(t, got[1], c.want)
			require.True(t, strings.HasPrefix(err.Error(), "data_quality: 1 of 3 messages were not loaded: "), err.Error())
			require.Equal(t, 2, e.Count("d", "t"))
		})
	}
}

func TestHeadlinesQuoteNoRows(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(s *server) {
		s.answer = func(r loadRequest) string {
			return failed(r, "[DATA_QUALITY_ERROR]too many filtered rows", `,"FirstErrorMsg":"Reason: null value. src line [card 4111]"`,
				`,"ErrorURL":"`+s.be.URL+`/api/_load_error_log?file=x"`)
		}
		s.page = "Reason: null value. src line [card 4222]\n"
		s.state = func(string) string { return `{"msg":"success","code":0,"data":"ABORTED","count":0}` }
	})
	b := build(t, fields(s.fe.URL, target))

	got, err := write(within(t), t, b, batchOf(`{"card":"4111"}`))
	require.Contains(t, got[0], "card 4111")
	require.Contains(t, got[0], "card 4222")
	require.Contains(t, err.Error(), "data_quality: 1 of 1 messages were not loaded: load into d.t failed: Fail: [DATA_QUALITY_ERROR]too many filtered rows; error page: http")
	require.NotContains(t, err.Error(), "4111")
	require.NotContains(t, err.Error(), "4222")

	got, err = write(within(t), t, b, batchOf(`"card `+"`"+`4333`+"`"+`"`))
	require.Contains(t, got[0], "4333")
	require.Contains(t, err.Error(), "the message is a JSON string")
	require.NotContains(t, err.Error(), "4333")
}

func TestLaidOutObjectsAreLoaded(t *testing.T) {
	t.Parallel()
	for _, layout := range []string{"", "strip_outer_array: true"} {
		e := cluster(t, emulator.Options{})
		b := build(t, fields(e.FEURL(), target+layout))
		require.NoError(t, b.WriteBatch(within(t), batchOf("{\n  \"id\": 1,\r\n\t\"name\": \"a b\"\n}\n", `{"id":2,"name":"c"}`)))
		rows := e.Rows("d", "t")
		require.Len(t, rows, 2)
		require.Equal(t, "a b", rows[0]["name"])
	}
}

func TestStructuredMessages(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), target))
	good, bad := service.NewMessage(nil), service.NewMessage(nil)
	good.SetStructuredMut(map[string]any{"id": 1})
	bad.SetStructuredMut(map[string]any{"id": func() {}})
	batch := service.MessageBatch{bad, good}
	got, _ := write(within(t), t, b, batch)
	require.Equal(t, map[int]string{0: "data_quality: the content of the message cannot be written as JSON"}, got)
	require.Equal(t, 1, e.Count("d", "t"))
}

func TestMessagesWithoutATable(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), "database: ${! meta(\"db\") }\ntable: ${! this.t }"))
	batch := batchOf(`{"t":"a"}`, `{"t":"a"}`, `{}`, `{"t":""}`, `no json`, `{"t":null}`, `{"t":"null"}`, `{"t":"../x"}`, `{"t":"b\u0000"}`)
	for i, m := range batch {
		if i != 1 {
			m.MetaSet("db", "shop")
		}
	}
	got, _ := write(within(t), t, b, batch)
	require.Equal(t, `not_found: the database of the message is "null"`, got[1])
	for _, i := range []int{2, 5, 6} {
		require.Equal(t, `not_found: the table of the message is "null"`, got[i])
	}
	require.Equal(t, `not_found: the table of the message is ""`, got[3])
	require.Contains(t, got[4], "not_found: the table of the message cannot be worked out: ")
	require.Contains(t, got[7], `not_found: load into shop.../x failed: the table name is "../x", which no path can carry`)
	require.Contains(t, got[8], "control character")
	require.NotContains(t, got, 0)
	require.Equal(t, 1, e.Count("shop", "a"))
	for _, r := range asked(e) {
		require.True(t, strings.HasPrefix(r.Path, "/api/shop/"), r.Path)
	}
}

func TestMissingPartsOfNames(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), "database: d\ntable: events_${! this.type.not_null() }"))
	got, err := write(within(t), t, b, batchOf(`{"type":"a"}`, `{"type":null}`, `{}`))
	require.EqualError(t, err, "not_found: 2 of 3 messages were not loaded: the table of the message cannot be worked out")
	require.Len(t, got, 2)
	require.Equal(t, 1, e.Count("d", "events_a"))
	require.Len(t, e.Loads(), 1)
}

// Failures of different classes under one headline must not be dropped by a pattern for one of them.
func TestMixedFailuresHaveAHeadlineOfTheirOwn(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBegin, Do: emulator.TxnLimit, Table: "b"}}})
	b := build(t, fields(e.FEURL(), "database: d\ntable: ${! this.t }"))
	batch := batchOf(`{"t":"b"}`, `[]`, `{"t":"a"}`, `{"t":""}`)
	got, err := write(within(t), t, b, batch)
	require.Contains(t, got[0], "capacity: ")
	require.Contains(t, got[3], "not_found: ")
	require.Equal(t, "mixed: 3 of 4 messages were not loaded, for reasons of several kinds", err.Error())
	require.Len(t, b.logs.lines("level=WARN", "capacity: load into d.b failed"), 1)
	require.NotEmpty(t, b.logs.lines("level=WARN", "not_found: the table of the message is"))
}

func TestHeadlinesDoNotRepeatWhatExpressionsQuote(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), "database: d\ntable: t${! this.n.number() }"))
	got, err := write(within(t), t, b, batchOf(`{"n":"card 4111"}`, `{"n":"card 4222"}`))
	require.Contains(t, got[0], "not_found: the table of the message cannot be worked out: ")
	require.Contains(t, got[0], "4111")
	require.EqualError(t, err, "not_found: 2 of 2 messages were not loaded: the table of the message cannot be worked out")
}

// A batch may name thousands of tables; its headline stays one line.
func TestHeadlinesOfManyReasonsStayShort(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBegin, Do: emulator.TxnLimit}}})
	b := build(t, fields(e.FEURL(), "database: d\ntable: t${! this.n }\nmax_in_flight: 1\nmax_retries: -1"))
	rows := make([]string, 3*maxCauses)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"n":%d}`, i)
	}
	got, err := write(within(t), t, b, batchOf(rows...))
	require.Len(t, got, len(rows))
	require.Contains(t, err.Error(), "capacity: 30 of 30 messages were not loaded: load into d.t0 failed: ")
	require.Contains(t, err.Error(), "(and for 29 more reasons of this class)")
	require.Less(t, len(err.Error()), 2000)
}

// Within one load: a row that is no object, and a server that is down, are two kinds of failure too.
func TestRejectedRowsOfAFailedLoad(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBegin, Do: emulator.TxnLimit}}})
	b := build(t, fields(e.FEURL(), target))
	batch := batchOf(`{"id":1}`, `7`)
	got, err := write(within(t), t, b, batch)
	require.Contains(t, got[0], "capacity: load into d.t failed")
	require.Contains(t, got[1], "data_quality: the message cannot be loaded into d.t: the message is a JSON number")
	require.True(t, strings.HasPrefix(err.Error(), "mixed: 2 of 2"), err.Error())
}

func TestTheBatchIsInViewOfExpressions(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), "database: d\ntable: t${! batch_index() }_of_${! batch_size() }"))
	require.NoError(t, b.WriteBatch(within(t), batchOf(`{"id":1}`, `{"id":2}`)))
	require.Equal(t, 1, e.Count("d", "t0_of_2"))
	require.Equal(t, 1, e.Count("d", "t1_of_2"))
}

func TestLabelsAreMadeOfTheMessagesOfTheirLoad(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), "database: d\ntable: ${! this.t }\nlabel_prefix: p\nlabel: ${! this.id }-${! batch_size() }"))
	batch := batchOf(`{"t":"a","id":1}`, `{"t":"b","id":2}`, `{"t":"a","id":3}`, `{"t":"b","id":4}`, `{"t":"b","id":5}`)
	require.NoError(t, b.WriteBatch(within(t), batch))
	labels := map[string]string{}
	for _, l := range e.Loads() {
		labels[l.Table] = l.Label
	}
	require.True(t, strings.HasPrefix(labels["a"], "p_1-2_"), labels["a"])
	require.True(t, strings.HasPrefix(labels["b"], "p_2-3_"), labels["b"])

	// Delivered again, alone: the same label, and nothing is stored twice.
	require.NoError(t, b.WriteBatch(within(t), service.MessageBatch{batch[0], batch[2]}))
	require.Equal(t, 2, e.Count("d", "a"))
	require.Equal(t, labels["a"], e.Loads()[len(e.Loads())-1].Label)
	require.Len(t, b.logs.lines("level=INFO", "found to be committed by its label (label_finished)"), 1)
}

func TestLoadsWithoutAnIdentityFail(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), "database: d\ntable: ${! this.t }\nlabel: ${! this.id.uppercase() }"))
	batch := batchOf(`{"t":"a","id":"x"}`, `{"t":"b","id":""}`, `{"t":"b","id":"y"}`, `{"t":"c","id":7}`)
	got, _ := write(within(t), t, b, batch)
	require.Len(t, got, 3)
	require.Equal(t, `label: the label of the batch is ""`, got[1])
	require.Equal(t, got[1], got[2])
	require.Contains(t, got[3], "label: the label of the batch cannot be worked out: ")
	require.Equal(t, 1, e.Count("d", "a"))
	require.Len(t, e.Loads(), 1)
}
