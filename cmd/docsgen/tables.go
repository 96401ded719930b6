package main

import (
	"strings"

	"github.com/dorisload/benthos-doris/output"
	"github.com/dorisload/benthos-doris/streamload/decide"
)

// classes is the table that failures get their class from.
func classes() namedTable {
	return namedTable{name: "classes", text: classTable(decide.ClassTable())}
}

func classTable(rows []decide.ClassRow) string {
	var cells [][]string
	for i, row := range rows {
		pattern := row.Pattern
		if !strings.HasPrefix(pattern, "HTTP ") && !strings.HasPrefix(pattern, "no answer: ") {
			pattern = code(pattern)
		}
		// Neighbours that mean the same are one row to a reader.
		if i > 0 && rows[i-1].Class == row.Class && rows[i-1].Note == row.Note {
			cells[len(cells)-1][1] += ", " + pattern
			continue
		}
		cells = append(cells, []string{code(string(row.Class)), pattern, row.Note})
	}
	return table([]string{"Class", "Recognised by", "What it means"}, cells)
}

// metrics is the table of what the output counts and measures.
func metrics() namedTable {
	return namedTable{name: "metrics", text: metricTable(output.MetricsTable())}
}

func metricTable(rows []output.Metric) string {
	var cells [][]string
	for _, row := range rows {
		labels := make([]string, 0, len(row.Labels))
		for _, label := range row.Labels {
			labels = append(labels, code(label))
		}
		cells = append(cells, []string{code(row.Name), row.Type, strings.Join(labels, ", "), row.Help})
	}
	return table([]string{"Metric", "Type", "Labels", "What it tells"}, cells)
}
