package page

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

var (
	pictureFile = flag.String("picture", "", "write a picture of the page to this `file` (make screenshot)")
	pictureDark = flag.Bool("picture-dark", false, "the picture is of the dark page")
	pictureWide = flag.Int("picture-width", 1280, "width of the picture in pixels")
)

// TestPicture makes the picture of the README.
func TestPicture(t *testing.T) {
	t.Parallel()
	if *pictureFile == "" {
		t.Skip("SKIPPED: -picture names no file to write")
	}
	b := startBrowser(t, *pictureWide, 900)
	emu := emulator.New(t, emulator.Options{
		FEAddrs: []string{"127.0.0.2:8030"}, BEAddrs: []string{"127.0.0.2:8040"}, // the ports that people see, where no other program is in the way
		Tables: []emulator.Table{
			{Database: "shop", Name: "orders", Model: emulator.Unique, Keys: []string{"order_id"}, Columns: []emulator.Column{
				{Name: "order_id", Type: "BIGINT"}, {Name: "customer", Type: "VARCHAR(64)"}, {Name: "city", Type: "VARCHAR(64)"}, {Name: "total", Type: "DECIMAL(10,2)"}, {Name: "ordered_at", Type: "DATETIME"}, {Name: "coupon", Type: "VARCHAR(16)"},
			}},
			{Database: "shop", Name: "page_views", Columns: []emulator.Column{
				{Name: "seen_at", Type: "DATETIME"}, {Name: "path", Type: "VARCHAR(256)"}, {Name: "status", Type: "INT"}, {Name: "ms", Type: "DOUBLE"},
			}},
		},
	})
	theme := "light"
	if *pictureDark {
		theme = "dark"
	}
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": theme}}}, nil)
	b.open(emu.FEURL())
	began := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	orders := loadPaced(t, emu.FEURL(), "orders", "", func(n int) string {
		coupon := "null"
		if n%7 == 3 {
			coupon = `"SPRING"`
		}
		return fmt.Sprintf(`{"order_id":%d,"customer":%q,"city":%q,"total":%d.%02d,"ordered_at":%q,"coupon":%s}`, 48_000_000+n, people[n%len(people)],
			cities[n*7%len(cities)], 5+n*37%400, n*53%100, began.Add(time.Duration(n)*7*time.Second).Format(time.DateTime), coupon)
	}, func(n int) int { return 180 + n*7%160 }, 700*time.Millisecond)
	views := loadPaced(t, emu.FEURL(), "page_views", "", func(n int) string {
		return fmt.Sprintf(`{"seen_at":%q,"path":%q,"status":%d,"ms":%d.%d}`, began.Add(time.Duration(n)*150*time.Millisecond).Format(time.DateTime), paths[n*5%len(paths)], 200+n%11/10*104, 8+n*13%90, n%10)
	}, func(n int) int { return 1500 + n*11%900 }, 900*time.Millisecond)
	b.until(`document.querySelectorAll("#loads .fresh").length > 0`)
	b.eval(`(document.querySelector("#strike").value = "third", 1)`, new(int))
	for _, name := range []string{"too-many-versions", "lost-answer"} {
		b.click("#switch-" + name + " button")
		b.until(fmt.Sprintf(`/Struck [3-9]/.test(document.querySelector("#switch-%s .struck").textContent)`, name))
	}
	// One moment with a transaction that runs and some fresh loads.
	_, err := emu.BeginLabel("shop", "nightly-backfill-2026-03-02")
	require.NoError(t, err)
	b.until(`document.querySelectorAll("#running tr").length > 0 && document.querySelectorAll("#loads tbody").length > 12 &&
		[...document.querySelectorAll("#tables .small")].every((e) => e.textContent.includes("rows/s")) && document.querySelectorAll("#loads .fresh").length < 4 &&
		[...document.querySelectorAll("#loads tbody")].slice(0, 6).some((r) => r.textContent.includes("not delivered")) &&
		[...document.querySelectorAll("#loads tbody")].slice(0, 6).some((r) => r.textContent.includes("E-235"))`)
	b.eval(`(document.activeElement.blur(), document.styleSheets[0].insertRule("#loads tbody:nth-of-type(n+11) { display: none }"), 1)`, new(int))
	require.NoError(t, os.WriteFile(*pictureFile, small(t, b.screenshot()), 0o644))
	orders.stop()
	views.stop()
	require.NoError(t, <-orders.ended)
	require.NoError(t, <-views.ended)
	require.Empty(t, b.shown())
}

// small is a PNG with 256 colours, those that are there most often: a page has few, and a picture in a repository should be small.
func small(t *testing.T, text []byte) []byte {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(text))
	require.NoError(t, err)
	box := picture.Bounds()
	often := map[color.Color]int{}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			often[picture.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(often), func(a, b color.Color) int { return cmp.Compare(often[b], often[a]) })
	palette := color.Palette(colours[:min(len(colours), 256)])
	nearest := map[color.Color]uint8{}
	for _, c := range colours {
		nearest[c] = uint8(palette.Index(c)) //nolint:gosec // below 256
	}
	out := image.NewPaletted(box, palette)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			out.SetColorIndex(x, y, nearest[picture.At(x, y)])
		}
	}
	var b bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, out))
	return b.Bytes()
}

var (
	people = []string{"Amina Diallo", "Jonas Weber", "Mei Tanaka", "Lucía Fernández", "Noah Smith", "Priya Nair", "Łukasz Nowak", "Chloé Martin"}
	cities = []string{"Lagos", "Kraków", "Osaka", "Sevilla", "Leeds", "Kochi", "Hamburg", "Lyon", "Austin"}
	paths  = []string{"/", "/search?q=lamp", "/item/1887", "/cart", "/checkout", "/item/203", "/help"}
)
