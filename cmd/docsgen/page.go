package main

import (
	"fmt"
	"strings"
)

const generatedNote = "<!-- Written by `make docs` from the code. Do not edit. -->\n"

// optionTable lists the fields that are not advanced, for the README, with links to what the page of the output says of them.
func optionTable(c *component) string {
	var rows [][]string
	for _, e := range c.flatten() {
		// Of an object the fields in it are left to the page.
		if !e.advanced && !strings.Contains(e.path, ".") {
			rows = append(rows, e.row(docsFolder+"/"+c.Name+".md"))
		}
	}
	return table(optionHeader, rows)
}

var optionHeader = []string{"Field", "Type", "Default", "Meaning"}

// row is a field in a table, with a link to its section on a page; none is this one.
func (e entry) row(page string) []string {
	value := code(e.defaultValue())
	if e.required() {
		value = "required"
	}
	link := fmt.Sprintf("[%s](%s#%s)", code(e.path), page, anchor(e.path))
	return []string{link, e.typeName(), value, e.brief()}
}

// anchor is what a web page calls the section of a field.
func anchor(path string) string {
	return strings.NewReplacer(".", "", "[", "", "]", "", "<", "", ">", "").Replace(path)
}

// flatTable has all fields, the advanced ones too.
func flatTable(c *component) string {
	var rows [][]string
	for _, e := range c.flatten() {
		rows = append(rows, []string{code(e.path), e.typeName(), code(e.defaultValue()), e.brief()})
	}
	return table(optionHeader, rows)
}

// namedTable is a generated table that pages may show.
type namedTable struct {
	name string // in the markers of a page
	text string
}

// outputPage is the reference page of the output.
func outputPage(c *component) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n# %s\n", generatedNote, c.Name)
	paragraph := func(text string) {
		if text = strings.TrimSpace(plainLinks(text)); text != "" {
			fmt.Fprintf(&b, "\n%s\n", text)
		}
	}
	paragraph(c.Summary)

	b.WriteString("\n" + block("yml", c.commonYAML))
	b.WriteString("\n<details>\n<summary>All fields with their defaults</summary>\n\n")
	b.WriteString(block("yml", c.fullYAML))
	b.WriteString("\n</details>\n")
	paragraph(c.Description)

	if len(c.Examples) > 0 {
		b.WriteString("\n## Examples\n")
		for _, e := range c.Examples {
			fmt.Fprintf(&b, "\n### %s\n", e.Title)
			paragraph(e.Summary)
			b.WriteString("\n" + block("yaml", e.Config))
		}
	}

	b.WriteString("\n## Fields\n\n")
	var rows [][]string
	for _, e := range c.flatten() {
		rows = append(rows, e.row(""))
	}
	b.WriteString(table(optionHeader, rows))
	for _, e := range c.flatten() {
		fieldSection(&b, e)
	}

	paragraph(c.Footnotes)
	return b.String()
}

func fieldSection(b *strings.Builder, e entry) {
	fmt.Fprintf(b, "\n### %s\n", code(e.path))
	if description := strings.TrimSpace(plainLinks(e.Description)); description != "" {
		fmt.Fprintf(b, "\n%s\n", description)
	}

	facts := []string{"Type: " + e.typeName()}
	switch value := e.defaultValue(); {
	case e.required():
		facts = append(facts, "required")
	case value != "":
		facts = append(facts, "default: "+code(value))
	case e.Optional:
		facts = append(facts, "optional")
	}
	if e.Interpolated {
		facts = append(facts, "may hold interpolation functions")
	}
	if e.Secret {
		facts = append(facts, "secret: hidden where the config is shown, but not by `GET /streams/ID` of streams mode")
	}
	fmt.Fprintf(b, "\n%s\n", strings.Join(facts, "; "))

	if choices := e.choices(); len(choices) > 0 {
		b.WriteString("\n")
		for _, choice := range choices {
			value, meaning := choice[0], choice[1]
			if value == "" {
				value = `""`
			}
			fmt.Fprintf(b, "- %s", code(value))
			if meaning != "" {
				fmt.Fprintf(b, ": %s", strings.Join(strings.Fields(plainLinks(meaning)), " "))
			}
			b.WriteString("\n")
		}
	}

	if len(e.examples) > 0 {
		b.WriteString("\nFor example\n")
		for _, text := range e.examples {
			b.WriteString("\n" + block("yml", text))
		}
	}
}
