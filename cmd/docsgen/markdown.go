package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Descriptions of the fields that Benthos itself supplies (tls, batching) hold
// AsciiDoc references into its own site: only their text is of use here.
var asciidocLink = regexp.MustCompile(`xref:[^\s\[\]]+\[([^\]]*)\]`)

func plainLinks(text string) string {
	return asciidocLink.ReplaceAllString(text, "$1")
}

// firstSentence cuts text after its first sentence, or after its first
// paragraph if that ends before. A dot ends a sentence only before a capital or
// a code span, so that "e.g. this" goes on.
func firstSentence(text string) string {
	text = strings.TrimSpace(text)
	if paragraph, _, found := strings.Cut(text, "\n\n"); found {
		text = paragraph
	}
	text = strings.Join(strings.Fields(text), " ")
	for i := 0; ; {
		end := strings.Index(text[i:], ". ")
		if end < 0 {
			return text
		}
		i += end + len(". ")
		next := []rune(text[i:])[0]
		if unicode.IsUpper(next) || next == '`' {
			return strings.TrimSpace(text[:i])
		}
	}
}

// table renders rows as a Markdown table. A cell may hold Markdown; what would
// end the cell is escaped.
func table(header []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		for _, cell := range cells {
			cell = strings.Join(strings.Fields(cell), " ")
			b.WriteString("| ")
			b.WriteString(strings.ReplaceAll(cell, "|", `\|`))
			b.WriteString(" ")
		}
		b.WriteString("|\n")
	}
	line(header)
	rule := make([]string, len(header))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

// code is text as a code span. Backticks in it need a longer fence.
func code(text string) string {
	if text == "" {
		return ""
	}
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return "`" + text + "`"
}

// block is a fenced block. Configs that can run are marked `yaml`, which the
// linter of Benthos checks when it is given the page; single fields, and configs
// that lack what only a user can fill in, `yml`, which it passes over.
func block(language, text string) string {
	return fmt.Sprintf("```%s\n%s\n```\n", language, strings.Trim(text, "\n"))
}
