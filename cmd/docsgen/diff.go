package main

import (
	"fmt"
	"slices"
	"strings"
)

// contextLines are shown around each difference.
const contextLines = 3

// diff shows how to get from the old text to the new one, in the unified form
// without line numbers. It is empty if the texts are equal.
func diff(name, from, to string) string {
	if from == to {
		return ""
	}
	edits := edit(lines(from), lines(to))

	// A line is shown if a change is near.
	shown := make([]bool, len(edits))
	for i, e := range edits {
		if e.op == ' ' {
			continue
		}
		for j := max(0, i-contextLines); j <= min(len(edits)-1, i+contextLines); j++ {
			shown[j] = true
		}
	}

	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s, as generated\n", name, name)
	for i, e := range edits {
		if !shown[i] {
			continue
		}
		if i == 0 || !shown[i-1] {
			b.WriteString("@@\n")
		}
		fmt.Fprintf(&b, "%c%s\n", e.op, e.line)
	}
	return b.String()
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

type editLine struct {
	op   byte // ' ', '-' or '+'
	line string
}

// edit aligns the two texts along their longest common subsequence of lines.
// Pages have some hundred lines, so its square is small.
func edit(from, to []string) []editLine {
	// common[i][j]: length of the longest one of from[i:] and to[j:].
	common := make([][]int, len(from)+1)
	for i := range common {
		common[i] = make([]int, len(to)+1)
	}
	for i, line := range slices.Backward(from) {
		for j, other := range slices.Backward(to) {
			if line == other {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}

	var edits []editLine
	i, j := 0, 0
	for i < len(from) || j < len(to) {
		switch {
		case i < len(from) && j < len(to) && from[i] == to[j]:
			edits = append(edits, editLine{' ', from[i]})
			i++
			j++
		case j == len(to) || (i < len(from) && common[i+1][j] >= common[i][j+1]):
			edits = append(edits, editLine{'-', from[i]})
			i++
		default:
			edits = append(edits, editLine{'+', to[j]})
			j++
		}
	}
	return edits
}
