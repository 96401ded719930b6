package main

import (
	"fmt"
	"strings"
)

const generatedNote = "<!-- Written by `make docs` from the code. Do not edit. -->\n"

// optionTable lists the fields for the README: the common ones first, the
// advanced ones folded away. Fields inside lists are left to the page.
func optionTable(c *component) string {
	header := []string{"Field", "Type", "Default", "Meaning"}
	var common, advanced [][]string
	for _, e := range c.flatten() {
		if strings.ContainsAny(e.path, "[<") {
			continue
		}
		value := code(e.defaultValue())
		if e.required() {
			value = "required"
		}
		row := []string{code(e.path), e.typeName(), value, e.brief()}
		if e.advanced {
			advanced = append(advanced, row)
		} else {
			common = append(common, row)
		}
	}

	var b strings.Builder
	b.WriteString(table(header, common))
	if len(advanced) > 0 {
		b.WriteString("\n<details>\n<summary>Advanced fields</summary>\n\n")
		b.WriteString(table(header, advanced))
		b.WriteString("\n</details>\n")
	}
	return b.String()
}

// flatTable has all fields, the advanced ones too.
func flatTable(c *component) string {
	var rows [][]string
	for _, e := range c.flatten() {
		rows = append(rows, []string{code(e.path), e.typeName(), code(e.defaultValue()), e.brief()})
	}
	return table([]string{"Field", "Type", "Default", "Meaning"}, rows)
}

// namedTable is a generated table that pages may show.
type namedTable struct {
	name  string // in the markers of a page
	title string // its heading on the page of the output
	intro string
	text  string
}

// outputPage is the reference page of the output.
func outputPage(c *component, tables []namedTable) string {
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

	b.WriteString("\n## Fields\n")
	for _, e := range c.flatten() {
		fieldSection(&b, e)
	}

	for _, t := range tables {
		fmt.Fprintf(&b, "\n## %s\n", t.title)
		paragraph(t.intro)
		b.WriteString("\n" + t.text)
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
		facts = append(facts, "secret: hidden wherever the config is shown")
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
