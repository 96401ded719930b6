package emulator_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

const waitFor = 20 * time.Second

// flip switches over HTTP, as the page does.
func flip(t *testing.T, fe, order string) reply {
	t.Helper()
	return do(t, http.MethodPost, fe+"/emulator/switches", order, "Content-Type: application/json", "Origin: "+fe, "Sec-Fetch-Site: same-origin")
}

type switched struct {
	on     bool
	struck int
}

// look says how a switch stands.
func look(t *testing.T, fe, name string) switched {
	t.Helper()
	for _, s := range lookAt(t, fe, "").Switches {
		if s.Name == name {
			return switched{s.On, s.Struck}
		}
	}
	t.Fatalf("no switch %s", name)
	return switched{}
}

func TestSwitchesStrikeLoads(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		dialect emulator.Dialect
		err     string // of the exchange; empty: answered
		http    int
		answer  string // a part of it
		rows    int
		waiting int
	}{
		{"too-many-versions", emulator.Doris, "", 200, "[E-235]", 0, 0},
		{"lost-answer", emulator.Doris, "reset", 0, "", 1, 0},
		{"wrong-answer", emulator.Doris, "", 502, "Bad Gateway", 1, 0},
		{"slow-publish", emulator.Doris, "", 200, "Publish Timeout", 0, 1},
		{"txn-limit", emulator.Doris, "", 200, "larger than limit", 0, 0},
		{"too-many-versions", emulator.StarRocks, "", 200, "Too many versions", 0, 0},
		{"lost-answer", emulator.StarRocks, "reset", 0, "", 1, 0},
		{"wrong-answer", emulator.StarRocks, "", 502, "Bad Gateway", 1, 0},
		{"txn-limit", emulator.StarRocks, "", 200, "larger than limit", 0, 0},
	} {
		t.Run(string(tc.dialect)+" "+tc.name, func(t *testing.T) {
			t.Parallel()
			emu := start(t, emulator.Options{Dialect: tc.dialect})
			fe := emu.FEURL()
			require.Equal(t, switched{false, 0}, look(t, fe, tc.name))
			r := flip(t, fe, `{"switch":"`+tc.name+`","on":true}`)
			require.Equal(t, http.StatusOK, r.http, r.raw)
			require.Equal(t, switched{true, 0}, look(t, fe, tc.name))
			r, err := tryJSON(t, emu, oneRow, "label: l")
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
			} else {
				require.NoError(t, err)
				require.Equal(t, tc.http, r.http)
				require.Contains(t, strings.ToLower(r.raw), strings.ToLower(tc.answer))
			}
			l := lookAt(t, fe, "")
			require.Equal(t, string(tc.dialect), l.Dialect)
			require.Equal(t, tc.rows, l.Tables[0].Rows)
			require.Equal(t, tc.waiting, l.Tables[0].Waiting)
			require.Empty(t, l.Faults, "it is listed as a switch already")
			require.Equal(t, switched{true, 1}, look(t, fe, tc.name))

			require.Equal(t, http.StatusOK, flip(t, fe, `{"switch":"`+tc.name+`","on":false}`).http)
			require.Equal(t, switched{false, 1}, look(t, fe, tc.name), "the count stays")
			r = putJSON(t, emu, oneRow, "label: l2")
			require.Contains(t, []string{"Success", "Publish Timeout"}, r.Status, r.raw) // behind a slow one
			require.Equal(t, switched{false, 1}, look(t, fe, tc.name))
		})
	}
}

func TestSwitchFEHangs(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	require.Equal(t, http.StatusOK, flip(t, emu.FEURL(), `{"switch":"fe-hangs","on":true}`).http)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := try(ctx, t, http.MethodPut, emu.FEURL()+"/api/db/t/_stream_load", "x", "Expect: 100-continue")
		ended <- err
	}()
	require.Eventually(t, func() bool { return look(t, emu.FEURL(), "fe-hangs").struck == 1 }, waitFor, 5*time.Millisecond)
	require.Empty(t, ended, "it waits for an answer")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestSwitchStrikesNowAndThen(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	fe := emu.FEURL()
	flip(t, fe, `{"switch":"too-many-versions","on":true,"strike":"once"}`)
	require.Equal(t, "Fail", putJSON(t, emu, oneRow).Status)
	require.Equal(t, "Success", putJSON(t, emu, oneRow).Status)
	require.Equal(t, switched{false, 1}, look(t, fe, "too-many-versions"), "it has switched itself off")

	flip(t, fe, `{"switch":"too-many-versions","on":true,"strike":"third"}`)
	failed := 0
	for range 60 {
		if putJSON(t, emu, oneRow).Status == "Fail" {
			failed++
		}
	}
	require.Greater(t, failed, 2)
	require.Less(t, failed, 50)
	require.Equal(t, switched{true, 1 + failed}, look(t, fe, "too-many-versions"))

	// Faults that are cleared by other means are off here too.
	require.Equal(t, http.StatusOK, do(t, http.MethodDelete, fe+"/emulator/faults", "").http)
	require.Equal(t, switched{false, 1 + failed}, look(t, fe, "too-many-versions"))
}

func TestSwitchBEDown(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	fe := emu.FEURL()
	require.Equal(t, http.StatusOK, flip(t, fe, `{"switch":"be1-down","on":true}`).http)
	require.Equal(t, http.StatusOK, flip(t, fe, `{"switch":"be1-down","on":true}`).http)
	require.Equal(t, switched{true, 1}, look(t, fe, "be1-down"), "it was down already")
	require.False(t, lookAt(t, fe, "").Nodes[1].Up)
	_, err := tryJSON(t, emu, oneRow)
	require.ErrorContains(t, err, "refused")
	require.Contains(t, do(t, http.MethodPut, fe+"/api/db/t/_stream_load", "x", "Expect: 100-continue").Msg, "No backend")
	require.Equal(t, http.StatusOK, flip(t, fe, `{"switch":"be1-down","on":false}`).http)
	require.Equal(t, "Success", putJSON(t, emu, oneRow).Status)
	require.Equal(t, switched{false, 1}, look(t, fe, "be1-down"))
}

// The only FE takes the page away with it, so it says for how long and comes back by itself.
func TestSwitchOnlyFEDown(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{FEAway: 50 * time.Millisecond})
	for i := 1; i <= 2; i++ {
		r := flip(t, emu.FEURL(), `{"switch":"fe1-down","on":true}`)
		require.Equal(t, http.StatusOK, r.http)
		require.JSONEq(t, `{"switch":"fe1-down","on":true,"back_in_ms":50}`, r.raw)
		require.Eventually(t, func() bool {
			r, err := try(t.Context(), t, http.MethodGet, emu.FEURL()+"/emulator/live", "")
			return err == nil && strings.Contains(r.raw, `"title":"FE1 down"`) && strings.Contains(r.raw, `"struck":`+intText(i)) &&
				strings.Contains(r.raw, `"name":"fe1","address":"`+strings.TrimPrefix(emu.FEURL(), "http://")+`","up":true`)
		}, waitFor, 5*time.Millisecond)
	}
}

func TestSwitchFEDownSeenFromAnother(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{FEs: 2, FEAway: time.Hour})
	one, two := emu.FEURLs()[0], emu.FEURLs()[1]
	require.Equal(t, http.StatusOK, flip(t, two, `{"switch":"fe1-down","on":true}`).http)
	n := lookAt(t, two, "").Nodes[0]
	require.False(t, n.Up)
	require.Greater(t, n.BackInMS, int64(3_500_000))
	require.LessOrEqual(t, n.BackInMS, int64(3_600_000))
	_, err := try(t.Context(), t, http.MethodGet, one+"/emulator/live", "")
	require.ErrorContains(t, err, "refused")
	require.Equal(t, http.StatusOK, flip(t, two, `{"switch":"fe1-down","on":false}`).http)
	n = lookAt(t, one, "").Nodes[0]
	require.True(t, n.Up)
	require.Zero(t, n.BackInMS)
}

func TestClearAll(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{FEs: 2, BEs: 2})
	two := emu.FEURLs()[1]
	emu.Inject(emulator.Fault{At: emulator.BEAnswer, Do: emulator.Reset})
	emu.StopFE(0)
	emu.StopBE(1)
	flip(t, two, `{"switch":"be1-down","on":true}`)
	flip(t, two, `{"switch":"lost-answer","on":true}`)
	require.Equal(t, http.StatusOK, flip(t, two, `{"clear":true}`).http)
	l := lookAt(t, emu.FEURL(), "")
	for _, n := range l.Nodes {
		require.True(t, n.Up, n.Name)
	}
	for _, s := range l.Switches {
		require.False(t, s.On, s.Name)
	}
	require.Empty(t, l.Faults)
	require.Equal(t, "Success", putJSON(t, emu, oneRow).Status)
}

// Nothing but a request that was meant for the emulator changes anything.
func TestSwitchesRefuse(t *testing.T) {
	t.Parallel()
	const on = `{"switch":"lost-answer","on":true}`
	json := "Content-Type: application/json"
	for _, tc := range []struct {
		name, method, path, body string
		headers                  []string
		want                     int
	}{
		{"a look", http.MethodGet, "/emulator/switches", "", nil, 405},
		{"a look with what to do", http.MethodGet, "/emulator/switches?switch=lost-answer&on=true", "", nil, 405},
		{"another method", http.MethodPut, "/emulator/switches", on, []string{json}, 405},
		{"a form", http.MethodPost, "/emulator/switches", "switch=lost-answer&on=true", []string{"Content-Type: application/x-www-form-urlencoded"}, 415},
		{"a text", http.MethodPost, "/emulator/switches", on, []string{"Content-Type: text/plain"}, 415},
		{"no type", http.MethodPost, "/emulator/switches", on, nil, 415},
		{"another site", http.MethodPost, "/emulator/switches", on, []string{json, "Origin: http://elsewhere.example"}, 403},
		{"another port", http.MethodPost, "/emulator/switches", on, []string{json, "Origin: http://127.0.0.1:1"}, 403},
		{"a page without a site", http.MethodPost, "/emulator/switches", on, []string{json, "Origin: null"}, 403},
		{"another site, as the browser says", http.MethodPost, "/emulator/switches", on, []string{json, "Sec-Fetch-Site: cross-site"}, 403},
		{"a name that leads here", http.MethodPost, "/emulator/switches", on, []string{json, "Origin: http://elsewhere.example:8030", "Host: elsewhere.example:8030"}, 403},
		{"no JSON", http.MethodPost, "/emulator/switches", "x", []string{json}, 400},
		{"unknown key", http.MethodPost, "/emulator/switches", `{"switch":"lost-answer","on":true,"color":1}`, []string{json}, 400},
		{"two of them", http.MethodPost, "/emulator/switches", on + on, []string{json}, 400},
		{"too long", http.MethodPost, "/emulator/switches", strings.Repeat(" ", 5000) + on, []string{json}, 400},
		{"unknown switch", http.MethodPost, "/emulator/switches", `{"switch":"moon","on":true}`, []string{json}, 404},
		{"unknown strike", http.MethodPost, "/emulator/switches", `{"switch":"lost-answer","on":true,"strike":"often"}`, []string{json}, 400},
		{"a fault from another site", http.MethodPost, "/emulator/faults", "be.answer:do=reset", []string{"Origin: http://elsewhere.example"}, 403},
		{"faults away from another site", http.MethodDelete, "/emulator/faults", "", []string{"Sec-Fetch-Site: same-site"}, 403},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			emu := start(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.CancelCall, Do: emulator.Reset}}})
			headers := slices.DeleteFunc(slices.Clone(tc.headers), func(h string) bool { return strings.HasPrefix(h, "Host: ") })
			if len(headers) < len(tc.headers) { // that needs the wire
				w := dial(t, emu.FEURL())
				w.send("POST " + tc.path + " HTTP/1.1\r\nContent-Length: " + intText(len(tc.body)) + "\r\n" + strings.Join(tc.headers, "\r\n") + "\r\n\r\n" + tc.body)
				head, body := w.answer()
				require.Equal(t, tc.want, head.status)
				require.Contains(t, body, "no name of this emulator")
			} else {
				require.Equal(t, tc.want, do(t, tc.method, emu.FEURL()+tc.path, tc.body, headers...).http)
			}
			l := lookAt(t, emu.FEURL(), "")
			for _, s := range l.Switches {
				require.False(t, s.On, s.Name)
			}
			require.Len(t, l.Faults, 1)
		})
	}
}

func TestSwitchesTakeWhatIsMeant(t *testing.T) {
	t.Parallel()
	const on = `{"switch":"lost-answer","on":true}`
	for _, host := range []string{"localhost:8030", "emulator:8030", "doris.localhost", "[::1]:8030", "10.1.2.3:80", "fe.shop.example:8030"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			emu := start(t, emulator.Options{Advertise: "fe.shop.example", FEAddrs: []string{"127.0.0.1:0"}})
			w := dial(t, strings.Replace(emu.FEURL(), "fe.shop.example", "127.0.0.1", 1))
			w.send("POST /emulator/switches HTTP/1.1\r\nHost: " + host + "\r\nOrigin: http://" + host +
				"\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: " + intText(len(on)) + "\r\n\r\n" + on)
			head, body := w.answer()
			require.Equal(t, http.StatusOK, head.status, body)
		})
	}
	emu := start(t, emulator.Options{})
	require.Equal(t, http.StatusOK, do(t, http.MethodPost, emu.FEURL()+"/emulator/switches", on, "Content-Type: application/json").http, "curl says nothing of a site")
	require.Equal(t, http.StatusOK, do(t, http.MethodPost, emu.FEURL()+"/emulator/faults", "be.answer:do=reset").http)
}
