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

// edit aligns the two texts. What they begin and end with in common is set aside first, so that a small change of a long file is cheap.
func edit(from, to []string) []editLine {
	before := 0
	for before < min(len(from), len(to)) && from[before] == to[before] {
		before++
	}
	after := 0
	for after < min(len(from), len(to))-before && from[len(from)-1-after] == to[len(to)-1-after] {
		after++
	}
	edits := all(' ', from[:before])
	if changed, by := from[before:len(from)-after], to[before:len(to)-after]; len(changed)*len(by) <= maxAligned {
		edits = append(edits, align(changed, by)...)
	} else {
		edits = append(append(edits, all('-', changed)...), all('+', by)...)
	}
	return append(edits, all(' ', from[len(from)-after:])...)
}

// maxAligned bounds the table of align, 8 bytes each. Beyond it the old lines are shown before the new ones.
const maxAligned = 8 << 20

func all(op byte, lines []string) []editLine {
	edits := make([]editLine, len(lines))
	for i, line := range lines {
		edits[i] = editLine{op, line}
	}
	return edits
}

// align aligns the two texts along their longest common subsequence of lines.
func align(from, to []string) []editLine {
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
