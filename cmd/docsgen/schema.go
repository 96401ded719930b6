package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redpanda-data/benthos/v4/public/service"
)

const (
	schemaPath = docsFolder + "/schema.json"
	// schemaID names the schema. Nothing is fetched from there.
	schemaID = "https://github.com/dorisload/benthos-doris/blob/main/docs/schema.json"
)

// fullSchema is what Benthos tells of a whole config and of every component of an environment.
type fullSchema struct {
	Config     []field     `json:"config"`
	Buffers    []component `json:"buffers"`
	Caches     []component `json:"caches"`
	Inputs     []component `json:"inputs"`
	Outputs    []component `json:"outputs"`
	Processors []component `json:"processors"`
	RateLimits []component `json:"rate-limits"`
	Metrics    []component `json:"metrics"`
	Tracers    []component `json:"tracers"`
	Scanners   []component `json:"scanners"`
}

// jsonSchema is the JSON Schema (draft 7) of a pipeline for editors. Benthos writes one too, which says yes to every misspelt field of a component and no to
// environment variables in the place of numbers, and has neither descriptions nor the values of enums. The components that are told about, by name, get their
// descriptions; of all others the form is enough.
//
// Where it is unsure it says yes, as the linter does: a line under a correct config is worse than none under a wrong one.
func jsonSchema(env *service.Environment, told ...string) (string, error) {
	raw, err := env.FullConfigSchema("", "").MarshalJSONV0()
	if err != nil {
		return "", fmt.Errorf("describing the config: %w", err)
	}
	var full fullSchema
	if err := json.Unmarshal(raw, &full); err != nil {
		return "", fmt.Errorf("reading the description of the config: %w", err)
	}

	root := objectSchema(full.Config, false)
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["$id"] = schemaID
	root["$comment"] = "Written by `make docs` from the code. Do not edit."
	definitions := map[string]any{"environment": map[string]any{
		"type": "string", "pattern": `\$\{[0-9A-Za-z_.]+(:[^}]*)?\}`,
		"description": "An environment variable: ${NAME}, or ${NAME:default}.",
	}}
	for kind, components := range map[string][]component{
		"buffer": full.Buffers, "cache": full.Caches, "input": full.Inputs, "output": full.Outputs, "processor": full.Processors,
		"rate_limit": full.RateLimits, "metrics": full.Metrics, "tracer": full.Tracers, "scanner": full.Scanners,
	} {
		definitions[kind] = kindSchema(kind, components, told)
	}
	root["definitions"] = definitions

	var text strings.Builder
	if err := writeJSON(&text, "", root); err != nil {
		return "", fmt.Errorf("writing the schema: %w", err)
	}
	return text.String() + "\n", nil
}

// kindSchema is an input, an output and so on: the name of a component with its config, beside the fields that all components of the kind have.
func kindSchema(kind string, components []component, told []string) map[string]any {
	properties := map[string]any{
		"type":   map[string]any{"type": "string"},
		"plugin": map[string]any{"type": "object"},
		"meta":   map[string]any{"type": "object"},
	}
	switch kind {
	case "input", "output":
		properties["processors"] = listSchema(reference("processor"))
	case "metrics":
		properties["mapping"] = map[string]any{"type": "string"}
	}
	switch kind {
	case "input", "output", "processor", "cache", "rate_limit":
		properties["label"] = anyOf(map[string]any{"type": "string", "pattern": "^([a-z0-9][a-z0-9_-]*)?$"}, reference("environment"))
	}
	for _, c := range components {
		tell := slices.Contains(told, c.Name)
		s := fieldSchema(c.Config, tell)
		if tell {
			s["description"] = strings.TrimSpace(plainLinks(c.Summary))
		}
		properties[c.Name] = s
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}

// fieldSchema is a field with all that its kind puts around its values.
func fieldSchema(f field, tell bool) map[string]any {
	s := valueSchema(f, tell)
	switch f.Kind {
	case "array":
		s = listSchema(s)
	case "2darray":
		s = listSchema(listSchema(s))
	case "map":
		s = map[string]any{"type": "object", "additionalProperties": s}
	}
	if f.Deprecated {
		s["deprecationMessage"] = "Deprecated."
	}
	if value := f.Default; value != nil && (len(f.Children) == 0 || f.step() != "") {
		s["default"] = *value
	}
	if tell && f.Description != "" {
		s["description"] = firstSentence(plainLinks(f.Description))
		s["markdownDescription"] = markdownDescription(f)
		if len(f.Examples) > 0 {
			s["examples"] = f.Examples
		}
	}
	return s
}

// markdownDescription is the whole text, with the values of an enum and what they mean.
func markdownDescription(f field) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(plainLinks(f.Description)))
	choices := f.choices()
	if len(choices) > 0 {
		b.WriteString("\n")
	}
	for _, choice := range choices {
		value, meaning := choice[0], choice[1]
		if value == "" {
			value = `""`
		}
		b.WriteString("\n- " + code(value))
		if meaning != "" {
			b.WriteString(": " + strings.Join(strings.Fields(plainLinks(meaning)), " "))
		}
	}
	if f.Interpolated {
		b.WriteString("\n\nMay hold interpolation functions.")
	}
	return b.String()
}

// valueSchema is one value of a field.
func valueSchema(f field, tell bool) map[string]any {
	if len(f.Children) > 0 {
		return objectSchema(f.Children, tell)
	}
	switch f.Type {
	case "bool":
		return anyOf(map[string]any{"type": "boolean"}, reference("environment"))
	case "int":
		return anyOf(map[string]any{"type": "integer"}, reference("environment"))
	case "float":
		return anyOf(map[string]any{"type": "number"}, reference("environment"))
	case "string":
		return stringSchema(f)
	case "object":
		return map[string]any{"type": "object"}
	case "unknown":
		return map[string]any{}
	default:
		return reference(f.Type)
	}
}

// stringSchema allows what else YAML makes of an unquoted text. The values of an enum that the linter does not insist on are proposals.
func stringSchema(f field) map[string]any {
	text := map[string]any{"type": []string{"string", "number", "boolean"}}
	choices := f.choices()
	if len(choices) == 0 {
		return text
	}
	values := make([]string, len(choices))
	for i, choice := range choices {
		values[i] = choice[0]
	}
	enum := map[string]any{"enum": values}
	if f.Linter == "" {
		return anyOf(enum, text)
	}
	return anyOf(enum, reference("environment"))
}

func objectSchema(fields []field, tell bool) map[string]any {
	properties := map[string]any{}
	var required []string
	for _, f := range fields {
		properties[f.Name] = fieldSchema(f, tell)
		if f.missed() {
			required = append(required, f.Name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// missed says whether the linter finds fault with a config without the field. It does not miss lists, maps and components.
func (f *field) missed() bool {
	switch f.Type {
	case "bool", "int", "float", "string", "object", "unknown":
		return f.required() && !f.Deprecated && f.Kind == "scalar"
	default:
		return false
	}
}

// listSchema is a list. One of texts or numbers may stand in a variable.
func listSchema(items map[string]any) map[string]any {
	list := map[string]any{"type": "array", "items": items}
	if items["type"] == "object" || items["$ref"] != nil {
		return list
	}
	return anyOf(list, reference("environment"))
}

// shortJSON is how long a value may be to stand in one line.
const shortJSON = 160

// writeJSON writes a value so that a change of one field is a change of a few lines.
func writeJSON(b *strings.Builder, indent string, value any) error {
	var short strings.Builder
	out := json.NewEncoder(&short)
	out.SetEscapeHTML(false)
	if err := out.Encode(value); err != nil {
		return err
	}
	members, isObject := value.(map[string]any)
	if !isObject || len(indent)+short.Len() <= shortJSON {
		b.WriteString(strings.TrimSuffix(short.String(), "\n"))
		return nil
	}
	b.WriteString("{\n")
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(b, "%s %q: ", indent, name)
		if err := writeJSON(b, indent+" ", members[name]); err != nil {
			return err
		}
	}
	b.WriteString("\n" + indent + "}")
	return nil
}

func reference(definition string) map[string]any {
	return map[string]any{"$ref": "#/definitions/" + definition}
}

func anyOf(schemas ...map[string]any) map[string]any {
	return map[string]any{"anyOf": schemas}
}
