package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/redpanda-data/benthos/v4/public/service"
	"gopkg.in/yaml.v3"

	"github.com/dorisload/benthos-doris/output"
	"github.com/dorisload/benthos-doris/preflight"
)

// found is an output in a config.
type found struct {
	config string // the file
	line   int    // in it, from 1
	path   string // in it, with dots
	label  string // that the config gives it, "" for none
	name   string // of the component
	// subject is what to look at; database and table are as they are written.
	subject         preflight.Subject
	database, table string
}

// findOutputs reads all configs and finds our outputs in them.
func findOutputs(o checkOptions) ([]found, error) {
	for _, file := range o.envFiles {
		if err := readEnvFile(file); err != nil {
			return nil, err
		}
	}
	resources, err := expand(o.resources)
	if err != nil {
		return nil, err
	}
	configs, err := expand(o.configs)
	if err != nil {
		return nil, err
	}
	var all []found
	for _, file := range configs {
		outputs, err := outputsOf(append([]string{file}, resources...))
		if err != nil {
			return nil, err
		}
		if len(outputs) == 0 {
			return nil, fmt.Errorf("%s has no output %s", file, strings.Join(outputNames, " or "))
		}
		for _, f := range outputs {
			// Resources are the same for each config.
			if !slices.ContainsFunc(all, func(other found) bool { return other.config == f.config && other.path == f.path }) {
				all = append(all, f)
			}
		}
	}
	return all, nil
}

func readEnvFile(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	vars, err := service.ParseEnvFile(text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for name, value := range vars {
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// expand resolves patterns; what is none stays, so that a file that is missing is an error when it is read.
func expand(patterns []string) ([]string, error) {
	var files []string
	for _, pattern := range patterns {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pattern, err)
		}
		if len(matches) == 0 {
			matches = []string{pattern}
		}
		files = append(files, matches...)
	}
	return files, nil
}

// outputsOf finds our outputs in a config, and in the files with resources that follow it.
func outputsOf(files []string) ([]found, error) {
	schema := service.GlobalEnvironment().FullConfigSchema("", "")
	walker := schema.NewStreamConfigWalker()
	builder := service.GlobalEnvironment().NewStreamBuilder()
	set := builder.SetYAML
	var outputs []found
	for _, file := range files {
		text, err := readConfig(schema, file)
		if err != nil {
			return nil, err
		}
		// The builder lints, and refuses what Benthos would refuse. But it hides passwords, so it is not the one to ask for them.
		if err := set(text); err != nil {
			return nil, fmt.Errorf("%s cannot be used (benthos-doris lint %s says more):\n%w", file, file, err)
		}
		set = builder.AddResourcesYAML
		err = walker.WalkComponentsYAML([]byte(text), func(w *service.WalkedComponent) error {
			if w.ComponentType != "output" || !slices.Contains(outputNames, w.Name) {
				return nil
			}
			f := found{config: file, line: w.LineStart, path: w.Path, label: w.Label, name: w.Name}
			if err := f.read(w.ConfigYAML()); err != nil {
				return fmt.Errorf("%s(%d): %s:\n%w", file, w.LineStart, w.Name, err)
			}
			outputs = append(outputs, f)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return outputs, nil
}

// readConfig reads a file and puts in the values of environment variables.
func readConfig(schema *service.ConfigSchema, file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		return "", fmt.Errorf("%s cannot be read: %w", file, err)
	}
	if missing := missingVariables(string(text)); len(missing) > 0 {
		return "", fmt.Errorf("%s needs environment variables that are not set: %s", file, strings.Join(missing, ", "))
	}
	out, err := interpolate(schema, string(text))
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return out, nil
}

// interpolate has Benthos put the values of environment variables into a text. Benthos does that only to configs that it reads, before it looks
// at their YAML: so the text goes in as a literal block of a config with one field, and comes out of that field.
func interpolate(schema *service.ConfigSchema, text string) (string, error) {
	const field = "text"
	var block strings.Builder
	block.WriteString(field + ": |2+\n")
	for line := range strings.Lines(text) {
		block.WriteString("  " + line)
	}
	querier := schema.Environment().CoreConfigSchema("", "").Field(service.NewStringField(field)).NewConfigQuerier()
	file, err := querier.ParseYAML(block.String())
	if err != nil {
		return "", err
	}
	value, err := file.FieldAtPath(field)
	if err != nil {
		return "", err
	}
	return value.FieldString()
}

// read makes the subject from the YAML of the component: its label, and its fields under its name.
func (f *found) read(component string) error {
	var parts map[string]yaml.Node
	if err := yaml.Unmarshal([]byte(component), &parts); err != nil {
		return err
	}
	node := parts[f.name]
	fields, err := yaml.Marshal(&node)
	if err != nil {
		return err
	}
	parsed, err := output.SpecFor(f.name).ParseYAML(string(fields), service.GlobalEnvironment())
	if err != nil {
		return err
	}
	f.database, _ = parsed.FieldString("database")
	f.table, _ = parsed.FieldString("table")
	f.subject, err = output.Preflight(parsed)
	return err
}

// variable is a use of an environment variable that has no default: ${NAME}.
var variable = regexp.MustCompile(`(^|[^$])\$\{([0-9A-Za-z_.]+)\}`)

// missingVariables are the variables that a config needs and the environment does not have, each once.
func missingVariables(config string) []string {
	var missing []string
	for _, m := range variable.FindAllStringSubmatch(config, -1) {
		if _, ok := os.LookupEnv(m[2]); !ok && !slices.Contains(missing, m[2]) {
			missing = append(missing, m[2])
		}
	}
	return missing
}
