package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// component is what the docs say of one output, read from its config spec.
type component struct {
	Name        string    `json:"name"`
	Summary     string    `json:"summary"`
	Description string    `json:"description"`
	Footnotes   string    `json:"footnotes"`
	Examples    []example `json:"examples"`
	Config      field     `json:"config"`

	// Whole `output:` documents with every field at its default, without and
	// with the advanced fields.
	commonYAML, fullYAML string
	// Example values of fields as YAML, by the path of the field.
	fragments map[string][]string
}

// example is a config that shows a use of the whole component.
type example struct {
	Title   string `json:"Title"`
	Summary string `json:"Summary"`
	Config  string `json:"Config"`
}

// field is one field of the config, as Benthos describes it in JSON. The field
// list for templates would be the simpler source, but leaves out which fields
// are optional and what lists hold.
type field struct {
	Name             string           `json:"name"`
	Type             string           `json:"type"`
	Kind             string           `json:"kind"`
	Description      string           `json:"description"`
	ShortDescription string           `json:"short_description"`
	Advanced         bool             `json:"is_advanced"`
	Deprecated       bool             `json:"is_deprecated"`
	Optional         bool             `json:"is_optional"`
	Secret           bool             `json:"is_secret"`
	Interpolated     bool             `json:"interpolated"`
	Bloblang         bool             `json:"bloblang"`
	Default          *json.RawMessage `json:"default"`
	Options          []string         `json:"options"`
	AnnotatedOptions [][2]string      `json:"annotated_options"`
	Children         []field          `json:"children"`
	Examples         []any            `json:"examples"`
	Linter           string           `json:"linter"` // Bloblang; empty if there is none
}

// readOutput looks up the output of that name in env.
func readOutput(env *service.Environment, name string) (*component, error) {
	var view *service.ConfigView
	env.WalkOutputs(func(other string, v *service.ConfigView) {
		if other == name {
			view = v
		}
	})
	if view == nil {
		return nil, fmt.Errorf("no output %q is registered", name)
	}
	return readView("output "+name, view)
}

// readView reads what Benthos knows of a component; what is its name in errors.
func readView(what string, view *service.ConfigView) (*component, error) {
	raw, err := view.FormatJSON()
	if err != nil {
		return nil, fmt.Errorf("describing %s: %w", what, err)
	}
	var c component
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("reading the description of %s: %w", what, err)
	}
	if len(c.Config.Children) == 0 {
		return nil, fmt.Errorf("the description of %s has no fields", what)
	}

	// Sample configs and examples as YAML are in the template data only.
	data, err := view.TemplateData()
	if err != nil {
		return nil, fmt.Errorf("sample configs of %s: %w", what, err)
	}
	c.commonYAML, c.fullYAML = data.CommonConfigYAML, data.AdvancedConfigYAML
	c.fragments = make(map[string][]string)
	for _, f := range data.Fields {
		c.fragments[f.FullName] = f.ExamplesMarshalled
	}
	return &c, nil
}

// entry is a field with its place in the tree.
type entry struct {
	field
	path     string   // e.g. tls.client_certs[].key
	advanced bool     // it, or a field around it, is
	examples []string // in YAML
}

// flatten lists the fields depth first, in the order of the spec, without those
// that are deprecated.
func (c *component) flatten() []entry {
	var entries []entry
	var walk func(prefix string, advanced bool, fields []field)
	walk = func(prefix string, advanced bool, fields []field) {
		for _, f := range fields {
			if f.Deprecated {
				continue
			}
			e := entry{field: f, path: prefix + f.Name, advanced: advanced || f.Advanced}
			e.examples = c.fragments[e.path]
			entries = append(entries, e)
			walk(e.path+f.step()+".", e.advanced, f.Children)
		}
	}
	walk("", false, c.Config.Children)
	return entries
}

// step is what stands between the name of a field and the name of a child.
func (f *field) step() string {
	switch f.Kind {
	case "array":
		return "[]"
	case "2darray":
		return "[][]"
	case "map":
		return ".<name>"
	default:
		return ""
	}
}

// typeName is the type in words.
func (f *field) typeName() string {
	name := f.Type
	switch {
	case f.Bloblang:
		name = "Bloblang"
	case f.Type == "unknown":
		name = "any"
	}
	switch f.Kind {
	case "array":
		return "list of " + name
	case "2darray":
		return "list of lists of " + name
	case "map":
		return "map of " + name
	default:
		return name
	}
}

// required says whether a config without the field does not lint. Of an object
// the fields in it answer for themselves.
func (f *field) required() bool {
	return f.Default == nil && !f.Optional && len(f.Children) == 0
}

// defaultValue is the default as YAML in one line, empty if there is none.
func (f *field) defaultValue() string {
	if f.Default == nil || (len(f.Children) > 0 && f.Kind == "scalar") {
		return ""
	}
	return string(*f.Default)
}

// choices are the allowed values of an enum.
func (f *field) choices() [][2]string {
	if len(f.AnnotatedOptions) > 0 {
		return f.AnnotatedOptions
	}
	choices := make([][2]string, len(f.Options))
	for i, option := range f.Options {
		choices[i][0] = option
	}
	return choices
}

// brief is the meaning in a sentence or two, for tables.
func (f *field) brief() string {
	text := f.ShortDescription
	if text == "" {
		text = firstSentence(plainLinks(f.Description))
	}
	if choices := f.choices(); len(choices) > 0 {
		values := make([]string, 0, len(choices))
		for _, choice := range choices {
			value := choice[0]
			if value == "" {
				value = `""`
			}
			values = append(values, "`"+value+"`")
		}
		text += " One of " + strings.Join(values, ", ") + "."
	}
	if f.Interpolated {
		text += " Interpolated."
	}
	if f.Secret {
		text += " Secret."
	}
	return strings.TrimSpace(text)
}
