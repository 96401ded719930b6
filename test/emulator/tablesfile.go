package emulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"gopkg.in/yaml.v3"
)

// LoadTables creates the tables of a file; see ReadTables for its form.
func (e *Emulator) LoadTables(file string) error {
	tables, err := ReadTables(file)
	if err != nil {
		return err
	}
	var errs []error
	for _, t := range tables {
		errs = append(errs, e.CreateTable(t))
	}
	return errors.Join(errs...)
}

// ReadTables reads a YAML or JSON file that declares tables:
//
//	tables:
//	  - database: shop
//	    name: orders
//	    model: UNIQUE                  # DUPLICATE (default), UNIQUE, AGGREGATE
//	    keys: [id]
//	    sequence_column: version       # optional, UNIQUE only; or sequence_type: BIGINT
//	    merge_on_write: true           # optional, UNIQUE only
//	    flexible_update: true          # optional, UNIQUE only
//	    group_commit: sync_mode        # optional, as Doris master only
//	    partitions: [p2026]            # optional, names only
//	    columns:
//	      - {name: id, type: BIGINT, not_null: true}
//	      - {name: amount, type: "DECIMAL(10,2)", default: 0}
//	      - {name: version, type: INT}
//
// Fields that it does not know are an error. The tables are not checked here but
// when they are created.
func ReadTables(file string) ([]Table, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the user names the file
	if err != nil {
		return nil, fmt.Errorf("tables file: %w", err)
	}
	tables, err := parseTables(text)
	if err != nil {
		return nil, fmt.Errorf("tables file %s: %w", file, err)
	}
	return tables, nil
}

func parseTables(text []byte) ([]Table, error) {
	var tree any
	if err := yaml.Unmarshal(text, &tree); err != nil { // JSON is YAML
		return nil, err
	}
	textDefaults(tree)
	plain, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Tables []Table `json:"tables"`
	}
	dec := json.NewDecoder(bytes.NewReader(plain))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		return nil, err
	}
	if len(doc.Tables) == 0 {
		return nil, errors.New("no tables in it")
	}
	return doc.Tables, nil
}

// textDefaults turns the defaults of columns into texts, so that numbers and
// booleans need no quotes in the file.
func textDefaults(tree any) {
	switch v := tree.(type) {
	case map[string]any:
		for k, sub := range v {
			switch sub.(type) {
			case nil, string:
				continue
			case map[string]any, []any:
				textDefaults(sub)
			default:
				if k == "default" {
					v[k] = fmt.Sprint(sub)
				}
			}
		}
	case []any:
		for _, sub := range v {
			textDefaults(sub)
		}
	}
}
