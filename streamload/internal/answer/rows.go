package answer

import (
	"encoding/json"
	"strings"
)

// ParseRows reads the result of a statement (Doris: fe StatementSubmitter.java): each row by the names of its columns in lower case, its values as text.
// It takes any bytes. An answer that is no result is not Readable.
func ParseRows(body []byte) ([]map[string]string, Info) {
	var result struct {
		Meta []struct {
			Name string `json:"name"`
		} `json:"meta"`
		Data [][]json.RawMessage `json:"data"`
	}
	i := parseData(body, &result)
	if i.OK() && len(result.Meta) == 0 {
		i = unreadable(i, body)
	}
	if !i.OK() {
		return nil, i
	}
	rows := make([]map[string]string, 0, len(result.Data))
	for _, values := range result.Data {
		row := make(map[string]string, len(values))
		for k, value := range values {
			if k < len(result.Meta) {
				row[strings.ToLower(result.Meta[k].Name)] = plainText(value)
			}
		}
		rows = append(rows, row)
	}
	return rows, i
}
