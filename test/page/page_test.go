package page

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
	"github.com/dorisload/benthos-doris/test/rawload"
)

// loader loads batches of rows one after the other until it is told to stop, each until it is stored, as a pipeline would.
type loader struct {
	stop   context.CancelFunc
	ended  chan error
	loaded atomic.Int64 // rows
	failed atomic.Int64 // batches that were given up and loaded again
}

const batchRows = 20

// load starts a loader. What it sends as the row n is what row gives.
func load(t *testing.T, fe, table, dialect string, row func(n int) string) *loader {
	t.Helper()
	return loadPaced(t, fe, table, dialect, row, func(int) int { return batchRows }, 0)
}

// loadPaced is load with batches of other sizes, and some time between two of them.
func loadPaced(t *testing.T, fe, table, dialect string, row func(n int) string, size func(n int) int, every time.Duration) *loader {
	t.Helper()
	client, err := streamload.New(streamload.Config{
		FEs: []string{fe}, Username: "root", Options: streamload.Options{Dialect: dialect},
		Backoff:   streamload.Backoff{Initial: 20 * time.Millisecond, Max: 100 * time.Millisecond},
		LabelPoll: streamload.Backoff{Initial: 20 * time.Millisecond, Max: 100 * time.Millisecond},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	l := &loader{stop: cancel, ended: make(chan error, 1)}
	go func() {
		defer client.Close()
		for n := 0; ctx.Err() == nil; {
			batch := streamload.Batch{Database: "shop", Table: table, Identity: fmt.Sprintf("%s %d", table, n)}
			for range size(n) {
				batch.Rows = append(batch.Rows, []byte(row(n)))
				n++
			}
			// What has begun is brought to its end, so that the rows can be counted.
			for {
				_, err := client.Load(context.WithoutCancel(ctx), batch)
				if err == nil {
					break
				}
				if l.failed.Add(1) > 1000 {
					l.ended <- err
					return
				}
			}
			l.loaded.Add(int64(len(batch.Rows)))
			select {
			case <-time.After(every):
			case <-ctx.Done():
			}
		}
		l.ended <- nil
	}()
	t.Cleanup(cancel)
	return l
}

func order(n int) string {
	return fmt.Sprintf(`{"id":%d,"name":"order %d"}`, n, n)
}

// checked says whether a switch is on.
func checked(name string) string {
	return fmt.Sprintf(`document.querySelector("#switch-%s button")?.getAttribute("aria-checked") === "true"`, name)
}

func TestPageWhileRowsAreLoaded(t *testing.T) {
	t.Parallel()
	b := startBrowser(t, 1280, 900)
	emu := emulator.New(t, emulator.Options{AutoCreate: true, FEAway: 4 * time.Second})
	b.open(emu.FEURL())
	b.until(`document.title === "Apache Doris 3.1 emulator"`)
	b.until(`!document.querySelector("#tables-none").hidden && !document.querySelector("#loads-none").hidden`)

	orders := load(t, emu.FEURL(), "orders", "", order)
	const rows = `Number(document.querySelector("article[aria-label='shop.orders']")?.dataset.rows ?? 0)`
	b.until(rows + " > 0")
	var first int
	b.eval(rows, &first)
	b.until(fmt.Sprintf("%s > %d", rows, first))
	b.until(`document.querySelector("#loads .good")`)

	b.click("#switch-too-many-versions button")
	b.until(checked("too-many-versions"))
	b.until(`[...document.querySelectorAll("#loads tbody")].some((r) => r.textContent.includes("Fail") && r.textContent.includes("[E-235]") && r.textContent.includes("ABORTED"))`)
	b.until(`/Struck [1-9]/.test(document.querySelector("#switch-too-many-versions .struck").textContent)`)
	require.Eventually(t, func() bool { return orders.failed.Load() > 0 }, waitFor, 20*time.Millisecond, "the client gives a batch up, and it is loaded again")

	// Off again by the keyboard: the switch keeps the focus while the page is drawn anew.
	b.eval(`(document.querySelector("#switch-too-many-versions button").focus(), 1)`, new(int))
	const ended = `parseInt(document.querySelector("#loads-sum").textContent.replaceAll(",", ""), 10)`
	var loads int
	b.eval(ended, &loads)
	b.until(fmt.Sprintf(`%s > %d`, ended, loads))
	b.pressSpace()
	b.until("!(" + checked("too-many-versions") + ")")
	stored := orders.loaded.Load()
	require.Eventually(t, func() bool { return orders.loaded.Load() > stored+batchRows }, waitFor, 20*time.Millisecond)

	// Answers get lost, and still every row is there once.
	b.click("#switch-lost-answer button")
	b.until(checked("lost-answer"))
	b.until(`[...document.querySelectorAll("#loads tbody")].some((r) => r.textContent.includes("not delivered") && r.textContent.includes("VISIBLE"))`)
	b.click("#clear")
	b.until("!(" + checked("lost-answer") + ")")
	orders.stop()
	require.NoError(t, <-orders.ended)
	require.Equal(t, int(orders.loaded.Load()), emu.Count("shop", "orders"))
	b.until(fmt.Sprintf("%s === %d", rows, orders.loaded.Load()))
	require.Empty(t, b.shown(), "nothing is wrong on the console")

	// The FE goes, and the page says so and comes back with it.
	b.click("#switch-fe1-down button")
	b.until(`!document.querySelector("#banner").hidden && document.querySelector("#banner-text").textContent.includes("comes back by itself")`)
	b.until(`document.querySelector("#banner").hidden && document.querySelector("#connection").textContent === "Live"`)
	b.until(`document.querySelector("#switch-fe1-down .struck").textContent === "Taken down 1 time"`)
	require.Empty(t, b.shown("network"), "but that the FE was not there")
}

// What clients choose is shown as text, whatever it is.
func TestPageShowsTextAsText(t *testing.T) {
	t.Parallel()
	const evil = `<img src=x onerror=document.title='broken'>`
	b := startBrowser(t, 1280, 900)
	emu := emulator.New(t, emulator.Options{Tables: []emulator.Table{{Database: "db", Name: "t", Columns: []emulator.Column{{Name: evil, Type: "STRING"}}}}})
	emu.Inject(emulator.Fault{At: emulator.CancelCall, Do: emulator.Fail, Message: evil})
	put := func(path, label, body string) {
		rawload.Put(t, rawload.Row{BE: emu.BEAddr(), Path: path, Label: label, JSON: body})
	}
	row, err := json.Marshal(map[string]string{evil: evil})
	require.NoError(t, err)
	put("/api/db/t/_stream_load", "good", string(row))
	put("/api/db/t/_stream_load", evil, string(row))
	put("/api/%3Cimg%20src=x%3E/%3Cb%3E/_stream_load", "other", "{}")
	_, err = emu.BeginLabel("db", "open")
	require.NoError(t, err)

	b.open(emu.FEURL())
	for _, place := range []string{"#loads .label", "#tables th", "#tables td", "#others-list code", "#loads .message"} {
		b.until(fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.textContent.includes("<img src=x onerror="))`, place))
	}
	b.until(`[...document.querySelectorAll("#loads .name")].some((e) => e.textContent === "<img src=x>.<b>")`)
	b.until(`[...document.querySelectorAll("#running .label")].some((e) => e.textContent === "open")`)
	var made int
	b.eval(`document.querySelectorAll("img, #loads b, #tables b").length`, &made)
	require.Zero(t, made)
	require.Empty(t, b.shown())
}

func TestPageOfStarRocks(t *testing.T) {
	t.Parallel()
	b := startBrowser(t, 1280, 900)
	emu := emulator.New(t, emulator.Options{AutoCreate: true, Dialect: emulator.StarRocks})
	b.open(emu.FEURL())
	b.until(`document.querySelector("h1").textContent.includes("StarRocks 3.5") && document.title === "StarRocks 3.5 emulator"`)
	orders := load(t, emu.FEURL(), "orders", streamload.DialectStarRocks, order)
	b.until(`document.querySelector("#loads .good")`)
	orders.stop()
	require.NoError(t, <-orders.ended)
	require.Empty(t, b.shown())
}

// On a phone nothing stands beside the screen, and who cannot see the page is told what the switches are.
func TestPageOnAPhone(t *testing.T) {
	t.Parallel()
	b := startBrowser(t, 1280, 900)
	emu := emulator.New(t, emulator.Options{AutoCreate: true})
	orders := load(t, emu.FEURL(), "orders_with_a_long_name_that_does_not_fit", "", func(n int) string {
		return fmt.Sprintf(`{"id":%d,"text":"%s"}`, n, strings.Repeat("long", 40))
	})
	_, err := emu.BeginLabel("shop", strings.Repeat("label", 20))
	require.NoError(t, err)
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": true}, nil)
	b.open(emu.FEURL())
	b.until(`document.querySelector("#loads .good")`)
	orders.stop()
	require.NoError(t, <-orders.ended)
	var wide []string
	b.eval(`document.documentElement.scrollWidth > 360 ? [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > 361).map((e) => e.tagName + "." + e.className).slice(0, 10) : []`, &wide)
	require.Empty(t, wide)

	var tree struct {
		Nodes []struct {
			Role, Name struct{ Value any }
			Ignored    bool
		}
	}
	b.call("Accessibility.getFullAXTree", nil, &tree)
	named := map[string]string{}
	for _, n := range tree.Nodes {
		role := fmt.Sprint(n.Role.Value)
		if n.Ignored || role != "switch" && role != "button" && role != "combobox" && role != "region" {
			continue
		}
		require.NotEmpty(t, n.Name.Value, role)
		named[fmt.Sprint(n.Name.Value)] = role
	}
	require.Equal(t, "switch", named["Too many versions"], named)
	require.Equal(t, "switch", named["FE1 down"], named)
	require.Equal(t, "button", named["Clear all"], named)
	require.Equal(t, "combobox", named["A new fault strikes"], named)
	require.Equal(t, "region", named["Last rows of shop.orders_with_a_long_name_that_does_not_fit"], named)
	require.Empty(t, b.shown())
}
