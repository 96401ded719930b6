package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

const docsFolder = "docs"

// page is a file of the docs as it is and as it should be.
type page struct {
	path      string // below the root, with slashes
	have, new string
}

// source is what the pages are made from.
type source struct {
	output *component
	tables []namedTable // each of which some page has to show
	schema string       // of a whole config, for editors
}

// plan works out every generated page, and every page with markers, below root.
func plan(root string, src source) ([]page, error) {
	own := docsFolder + "/" + src.output.Name + ".md"
	pages := []page{{path: own, new: outputPage(src.output)}, {path: schemaPath, new: src.schema}}
	var err error
	for i := range pages {
		if pages[i].have, err = read(root, pages[i].path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}

	others, err := markdownFiles(root)
	if err != nil {
		return nil, err
	}
	var shown []string
	for _, path := range others {
		if path == own {
			continue
		}
		p := page{path: path}
		if p.have, err = read(root, path); err != nil {
			return nil, err
		}
		var here []string
		if p.new, here, err = fillMarkers(p.have, src.tables); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		shown = append(shown, here...)
		pages = append(pages, p)
	}
	for _, t := range src.tables {
		if !slices.Contains(shown, t.name) {
			return nil, fmt.Errorf("no page has a place for the table %q (<!-- docsgen:%s:begin --> and end)", t.name, t.name)
		}
	}
	return pages, nil
}

func markdownFiles(root string) ([]string, error) {
	var found []string
	for _, pattern := range []string{"*.md", docsFolder + "/*.md"} {
		matches, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		for _, match := range matches {
			path, err := filepath.Rel(root, match)
			if err != nil {
				return nil, err
			}
			found = append(found, filepath.ToSlash(path))
		}
	}
	return found, nil
}

func read(root, path string) (string, error) {
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	return string(content), err
}

func write(root, path, text string) error {
	target := filepath.Join(root, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(target, []byte(text), 0o644)
}
