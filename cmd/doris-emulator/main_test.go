package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/dorisload/benthos-doris/test/emulator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRunServesUntilTold(t *testing.T) {
	t.Parallel()
	tables := filepath.Join(t.TempDir(), "tables.yaml")
	require.NoError(t, os.WriteFile(tables, []byte(`
tables:
  - database: demo
    name: events
    columns:
      - {name: id, type: BIGINT, not_null: true}
      - {name: score, type: "DECIMAL(5,2)", default: 1.5}
`), 0o600))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	in, out := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"-fe", "127.0.0.1:0", "-be", "127.0.0.1:0", "-tables", tables, "-fault", "be.answer:do=delay,for=1ms,times=1"}, out, io.Discard)
		_ = out.Close()
	}()
	lines := bufio.NewScanner(in)
	require.True(t, lines.Scan())
	m := regexp.MustCompile(`is ready: FE (http://\S+), BE (\S+)$`).FindStringSubmatch(lines.Text())
	require.NotNil(t, m, lines.Text())
	require.True(t, lines.Scan())
	require.Equal(t, "watch it in a browser: "+m[1]+"/", lines.Text())

	answer := make(chan string, 1)
	go func() {
		defer close(answer)
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+m[2]+"/api/demo/events/_stream_load", strings.NewReader(`{"id":1}`))
		if err != nil {
			return
		}
		req.SetBasicAuth("root", "")
		req.Header.Set("format", "json")
		req.Header.Set("label", "one")
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(req)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		answer <- string(body)
	}()
	require.True(t, lines.Scan())
	require.Regexp(t, `be1 load demo\.events label=one txn=\d+ status="Success" rows=1 loaded=1 filtered=0 unselected=0 bytes=8 took=`, lines.Text())
	require.Contains(t, <-answer, `"Status": "Success"`)

	stop()
	require.True(t, lines.Scan())
	require.Equal(t, "doris-emulator stopped", lines.Text())
	require.Equal(t, 0, <-code)
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = busy.Close() })
	for _, tc := range []struct {
		name, want string
		args       []string
		code       int
	}{
		{"port in use", "Choose other addresses with -fe and -be", []string{"-fe", busy.Addr().String(), "-be", "127.0.0.1:0"}, 1},
		{"unknown flag", "-h shows the flags", []string{"-nope"}, 2},
		{"argument", `unexpected argument "x"`, []string{"x"}, 2},
		{"bad fault", `unknown point "moon"`, []string{"-fault", "moon:do=reset"}, 2},
		{"fault at the wrong point", "dead-be does not work at be.answer", []string{"-fault", "be.answer:do=dead-be"}, 2},
		{"bad user", "want name:password:databases", []string{"-user", "bob"}, 2},
		{"no tables file", "tables file:", []string{"-tables", filepath.Join(t.TempDir(), "none")}, 2},
		{"no address", "need an address each", []string{"-be", ","}, 2},
		{"no such dialect", `unknown dialect "mysql", want doris or starrocks`, []string{"-dialect", "mysql"}, 2},
		{"no such version of it", `-version: unknown version "master" of starrocks`, []string{"-dialect", "starrocks", "-version", "master"}, 2},
		{"no such version", `-version: unknown version "5"`, []string{"-version", "5"}, 2},
		{"no such patch level", `-version: unknown version "2.1.x"`, []string{"--version=2.1.x"}, 2},
		{"bad limit", "must be above 0", []string{"-label-keep-count", "0"}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			require.Equal(t, tc.code, run(t.Context(), tc.args, io.Discard, &stderr))
			require.Contains(t, stderr.String(), tc.want)
		})
	}
}

func TestRunInforms(t *testing.T) {
	t.Parallel()
	var help, v bytes.Buffer
	require.Equal(t, 0, run(t.Context(), []string{"-h"}, &help, io.Discard))
	require.Contains(t, help.String(), "Examples:")
	require.Contains(t, help.String(), "-fault")
	require.Contains(t, help.String(), "publish-timeout without for= keeps the rows of the load invisible for good")
	require.Equal(t, 0, run(t.Context(), []string{"-version"}, &v, io.Discard))
	require.Regexp(t, `^doris-emulator \S+\n$`, v.String())
}

func TestAccount(t *testing.T) {
	t.Parallel()
	u, err := account("bob:p:w:a,b")
	require.NoError(t, err)
	require.Equal(t, "bob", u.Name)
	require.Equal(t, "p:w", u.Password)
	require.Equal(t, []string{"a", "b"}, u.Load)
}

func TestVersionOfDoris(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-version", "2.1", "-quiet"}, {"--version=2.1", "-quiet"}} {
		c, err := parse(args, io.Discard)
		require.NoError(t, err)
		require.Equal(t, "2.1", c.opt.Version)
		require.False(t, c.version)
		require.True(t, c.quiet, "the flags after it count")
	}
	rocks, err := parse([]string{"-dialect", "starrocks", "-version", "3.3"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, emulator.StarRocks, rocks.opt.Dialect)
	require.Equal(t, "3.3", rocks.opt.Version)
	c, err := parse([]string{"-version", "-quiet"}, io.Discard)
	require.NoError(t, err)
	require.True(t, c.version)
	require.Empty(t, c.opt.Version)
}
