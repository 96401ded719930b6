package streamload

import (
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/internal/redact"
)

func TestErrorText(t *testing.T) {
	t.Parallel()
	rejected := []RowError{{Index: 3, Err: errors.New("is no JSON object: `{\"a\":` and `x`")}, {Index: 5, Err: errors.New("is empty")}}
	for _, test := range []struct {
		name, text, headline string
		e                    Error
	}{
		{
			"the least",
			"unknown: load into shop.orders failed: Fail: no [stage=load attempts=1]",
			"unknown: load into shop.orders failed: Fail: no [stage=load attempts=1]",
			Error{Class: decide.Unknown, Stage: StageLoad, Attempts: 1, Message: "Fail: no"},
		},
		{
			"everything",
			`capacity: load into shop.orders failed with its outcome unknown: Fail: no; first error: x (HTTP 429); error page: http://be/log; its first lines: a b [stage=label_state label=b_1 label_state=PREPARE attempts=4 ended="retries used up"]`,
			`capacity: load into shop.orders failed with its outcome unknown: Fail: no (HTTP 429); error page: http://be/log [stage=label_state label=b_1 label_state=PREPARE attempts=4 ended="retries used up"]`,
			Error{
				Class: decide.Capacity, Stage: StageLabel, Label: "b_1", Attempts: 4, HTTPStatus: 429, Message: "Fail: no; first error: x", Reason: "retries used up",
				LabelState: "PREPARE", ErrorURL: "http://be/log", ErrorLines: []string{"a", "b"}, Unresolved: true,
			},
		},
		{
			"an HTTP status that the message names",
			"auth: load into shop.orders failed: HTTP 401: no [stage=frontend attempts=1]",
			"auth: load into shop.orders failed: HTTP 401: no [stage=frontend attempts=1]",
			Error{Class: decide.Auth, Stage: StageFrontend, Attempts: 1, HTTPStatus: 401, Message: "HTTP 401: no"},
		},
		{
			"rows that were not sent",
			"data_quality: 2 row(s) of shop.orders cannot be loaded, the first: row 3: is no JSON object: `{\"a\":` and `x`",
			"data_quality: 2 row(s) of shop.orders cannot be loaded and were not sent, the first: is no JSON object: [not shown]",
			Error{Class: decide.DataQuality, Stage: StageEncode, Rejected: rejected},
		},
		{
			"some rows that were not sent",
			"data_quality: 1 row(s) of shop.orders cannot be loaded, the first: row 5: is empty",
			"data_quality: 1 row(s) of shop.orders cannot be loaded and were not sent, the first: is empty",
			Error{Class: decide.DataQuality, Stage: StageEncode, Rejected: rejected[1:], Partial: true},
		},
		{
			"no rows where some should be",
			"data_quality: load into shop.orders failed: - [stage=encode attempts=0]",
			"data_quality: load into shop.orders failed: - [stage=encode attempts=0]",
			Error{Class: decide.DataQuality, Stage: StageEncode, Message: "-", Partial: true},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.e.Database, test.e.Table = "shop", "orders"
			require.EqualError(t, &test.e, test.text)
			require.Equal(t, test.headline, test.e.Headline())
		})
	}
	require.Empty(t, (&Error{}).RejectedHeadline())
}

// Table names come from messages: whatever they are, an error is one short printable line.
func TestErrorTextOfAnyName(t *testing.T) {
	t.Parallel()
	e := &Error{Class: decide.Unknown, Stage: StageLoad, Database: "a\nb\xff", Table: strings.Repeat("ä", 1<<20), Message: "-"}
	for _, text := range []string{e.Error(), e.Headline()} {
		require.Less(t, len(text), 1000)
		require.True(t, utf8.ValidString(text))
		require.False(t, strings.ContainsFunc(text, unicode.IsControl))
	}
	require.Equal(t, "a\nb\xff", e.Database, "the field is as it was given")
}

func TestErrorRow(t *testing.T) {
	t.Parallel()
	bad := errors.New("bad")
	e := &Error{Rejected: []RowError{{Index: 1, Err: bad}, {Index: 4, Err: bad}}}
	for i, want := range []error{e, bad, e, e, bad, e} {
		require.Equal(t, want, e.Row(i), i)
	}
	e.Partial = true
	for i, want := range []error{nil, bad, nil, nil, bad, nil} {
		require.Equal(t, want, e.Row(i), i)
	}
	require.Error(t, (&Error{}).Row(0))
}

func TestErrorUnwrap(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, &Error{Err: errors.Join(ErrUnresolved, io.EOF)}, ErrUnresolved)
	require.ErrorIs(t, &Error{Err: errors.Join(ErrUnresolved, io.EOF)}, io.EOF)
	require.NotErrorIs(t, &Error{}, ErrUnresolved)
}

func TestFirstLines(t *testing.T) {
	t.Parallel()
	secrets := redact.NewSecrets("root", "hunter22")
	for name, test := range map[string]struct {
		page string
		want []string
	}{
		"nothing":     {"", nil},
		"empty lines": {"\n\r\n \n", nil},
		"two":         {"a\r\n\n  b  ", []string{"a", "b"}},
		"many":        {"a\nb\nc\nd\ne", []string{"a", "b", "c"}},
		"secrets":     {"pw hunter22", []string{"pw ***"}},
		"no UTF-8":    {"a\xffb", []string{"a\uFFFDb"}},
		"long":        {strings.Repeat("x", 1000), []string{strings.Repeat("x", maxErrorLine-3) + "..."}},
	} {
		require.Equal(t, test.want, firstLines([]byte(test.page), secrets), name)
	}
}
