package cases

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/test/cases/internal/rows"
	"github.com/dorisload/benthos-doris/test/cases/internal/script"
)

// fields is the configuration of an output.
type fields map[string]any

// metadataKey holds the number of the batch that a message is written in, for
// label expressions that are the same for every message of a batch.
const metadataKey = "case_batch"

// outputs translates the configuration of a case into the fields of its
// outputs. There are as many as the key outputs lists, else one. expand fills
// in the addresses of the servers; authority is the file of the certificate
// that they are signed by.
func outputs(c script.Case, password, authority string, expand func(string) (string, error)) ([]fields, error) {
	variants := []any{map[string]any{}}
	if list, ok := c.Config["outputs"].([]any); ok && len(list) > 0 {
		variants = list
	}
	var all []fields
	for _, v := range variants {
		changes, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("outputs holds %v", v)
		}
		given := maps.Clone(c.Config)
		delete(given, "outputs")
		maps.Copy(given, changes)
		out, err := translate(c, given)
		if err != nil {
			return nil, err
		}
		if _, ok := out["password"]; !ok {
			out["password"] = password
		}
		if out["fe_urls"], err = urls(out["fe_urls"], expand); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out["fe_urls"].([]string), func(u string) bool { return strings.HasPrefix(u, "https:") }) {
			out["tls"] = map[string]any{"enabled": true, "root_cas_file": authority}
		}
		maps.Copy(out, c.ProductConfig)
		all = append(all, out)
	}
	return all, nil
}

func translate(c script.Case, given map[string]any) (fields, error) {
	timeout := "2s"
	if longest := c.LongestDelay(); longest > 0 {
		timeout = fmt.Sprintf("%dms", longest+3000)
	}
	poll := map[string]any{"initial_interval": "20ms", "max_interval": "100ms", "max_elapsed_time": "1500ms"}
	out := fields{
		"fe_urls": []any{"{{FE}}"}, "database": "db", "table": "t1", "username": "loader",
		"max_in_flight": 1, "max_retries": 3, "timeout": timeout,
		"backoff":    map[string]any{"initial_interval": "20ms", "max_interval": "100ms"},
		"label_poll": poll,
	}
	if c.StarRocks() {
		out["dialect"] = "starrocks"
	}
	for key, value := range given {
		var err error
		switch key {
		case "csv_from_fields":
			out["csv_mapping"], err = csvMapping(value)
		case "columns_count":
			out["columns"], err = generatedColumns(value)
		case "label_strategy":
			if value != "deterministic" {
				err = fmt.Errorf("label_strategy %v", value)
			}
			out["label"] = fmt.Sprintf("batch-${! @%s }", metadataKey)
		case "allow_http_redirect":
			out["allow_insecure_redirect"] = value
		case "state_poll_timeout":
			poll["max_elapsed_time"] = value
		case "split_on_too_large":
			out["max_load_bytes"], err = refusedSize(c)
		case "max_batch_bytes":
			out["max_load_bytes"] = value
		case "max_batch_rows":
			out["max_load_rows"] = value
		default:
			out[key] = value
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// urls fills in the addresses; where a case gives a mere host and port, it is
// the address of a server that speaks http.
func urls(given any, expand func(string) (string, error)) ([]string, error) {
	list, ok := given.([]any)
	if !ok {
		return nil, fmt.Errorf("fe_urls is %v", given)
	}
	var all []string
	for _, entry := range list {
		text, err := expand(fmt.Sprint(entry))
		if err != nil {
			return nil, err
		}
		if !strings.Contains(text, "://") {
			text = "http://" + text
		}
		all = append(all, text)
	}
	return all, nil
}

func csvMapping(names any) (string, error) {
	list, err := texts(names)
	if err != nil {
		return "", fmt.Errorf("csv_from_fields: %w", err)
	}
	for i, name := range list {
		list[i] = fmt.Sprintf("this.%q", name)
	}
	return "root = [" + strings.Join(list, ", ") + "]", nil
}

func texts(value any) ([]string, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("%v is no list", value)
	}
	var all []string
	for _, entry := range list {
		text, ok := entry.(string)
		if !ok {
			return nil, fmt.Errorf("%v is no text", entry)
		}
		all = append(all, text)
	}
	return all, nil
}

func generatedColumns(count any) ([]string, error) {
	n, ok := count.(float64)
	if !ok || n < 1 {
		return nil, fmt.Errorf("columns_count is %v", count)
	}
	var all []string
	for i := range int(n) {
		all = append(all, fmt.Sprintf("c%d", i+1))
	}
	return all, nil
}

// refusedSize is the size above which the script refuses a body.
func refusedSize(c script.Case) (int64, error) {
	for _, s := range c.Script {
		if s.When.BodyBytesGT != nil {
			return *s.When.BodyBytesGT, nil
		}
	}
	return 0, errors.New("split_on_too_large, but no step tests body_bytes_gt")
}

// layout is how the rows of the case's loads are laid out.
func layout(c script.Case) rows.Layout {
	text := func(key, otherwise string) string {
		if v, ok := c.Config[key].(string); ok {
			return v
		}
		return otherwise
	}
	l := rows.Layout{
		Format:    text("format", "json"),
		Separator: text("column_separator", ","),
		Delimiter: text("line_delimiter", "\n"),
		Enclose:   text("enclose", ""),
		Escape:    text("escape", ""),
	}
	l.Fields, _ = texts(c.Config["csv_from_fields"]) // not given: the message is the row
	return l
}

// spec returns the names of the fields that an output has.
func spec(env *service.Environment, output string) (map[string]bool, error) {
	var view *service.ConfigView
	env.WalkOutputs(func(name string, v *service.ConfigView) {
		if name == output {
			view = v
		}
	})
	if view == nil {
		return nil, fmt.Errorf("there is no output %s", output)
	}
	data, err := view.TemplateData()
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, f := range data.Fields {
		name, _, _ := strings.Cut(f.FullName, ".")
		names[strings.TrimSuffix(name, "[]")] = true
	}
	return names, nil
}

// known looks that the output has all the fields. Without this, a case that
// accepts a refused configuration would pass because a field is not there.
// The dialect is left out where an output has none: it is then the output's
// business to understand both.
func (f fields) known(names map[string]bool) error {
	if !names["dialect"] {
		delete(f, "dialect")
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if !names[name] {
			return fmt.Errorf("the output has no field %s", name)
		}
	}
	return nil
}
