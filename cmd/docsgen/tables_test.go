package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/output"
	"github.com/dorisload/benthos-doris/streamload/decide"
)

func TestClassTable(t *testing.T) {
	t.Parallel()

	got := classTable([]decide.ClassRow{
		{Class: "full", Pattern: "e-1", Note: "Is full."},
		{Class: "full", Pattern: "no room", Note: "Is full."},
		{Class: "empty", Pattern: "HTTP 404", Note: "Is empty."},
		{Class: "full", Pattern: "no answer: cut", Note: "Is full."},
	})
	require.Equal(t, "| Class | Recognised by | What it means |\n"+
		"| --- | --- | --- |\n"+
		"| `full` | `e-1`, `no room` | Is full. |\n"+
		"| `empty` | HTTP 404 | Is empty. |\n"+
		"| `full` | no answer: cut | Is full. |\n", got)
}

// Each row of the code is told to the reader.
func TestClassesTellEveryRow(t *testing.T) {
	t.Parallel()

	rows := decide.ClassTable()
	require.NotEmpty(t, rows)
	text := classes().text
	for _, row := range rows {
		require.NotEmpty(t, row.Note, "%s", row.Pattern)
		require.Contains(t, text, row.Pattern)
		require.Contains(t, text, row.Note)
	}
}

func TestMetricTable(t *testing.T) {
	t.Parallel()

	got := metricTable([]output.Metric{
		{Name: "wells", Type: "gauge", Help: "Wells | buckets."},
		{Name: "drops", Type: "counter", Labels: []string{"well", "depth"}, Help: "Drops."},
	})
	require.Equal(t, "| Metric | Type | Labels | What it tells |\n"+
		"| --- | --- | --- | --- |\n"+
		"| `wells` | gauge |  | Wells \\| buckets. |\n"+
		"| `drops` | counter | `well`, `depth` | Drops. |\n", got)
}

// Each metric of the code is told to the reader.
func TestMetricsTellEveryRow(t *testing.T) {
	t.Parallel()

	rows := output.MetricsTable()
	require.NotEmpty(t, rows)
	text := metrics().text
	for _, row := range rows {
		require.NotEmpty(t, row.Help, row.Name)
		require.Contains(t, text, "| `"+row.Name+"` | "+row.Type+" |")
	}
}
