package answer

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Info is the answer of an FE to a question about itself or a table. Doris wraps it as {"msg","code","data","count"}, always with HTTP 200
// (fe ResponseEntityBuilder.java); StarRocks has the members of data at the top.
type Info struct {
	// Readable is true for one whole JSON object.
	Readable bool
	// Code is 0 for success; HTTP status 200 does not mean success.
	Code int64
	// Message is the server's text when it does not answer the question, or an excerpt of an unreadable answer.
	Message string
	// data is what was asked for, an object; nil when there is none.
	data json.RawMessage
}

// OK is true when the question was answered.
func (i Info) OK() bool { return i.Readable && i.Code == 0 }

// ParseInfo reads the frame of an answer. It takes any bytes.
func ParseInfo(body []byte) Info {
	o, ok := parseObject(body, nil)
	if !ok {
		return Info{Message: Excerpt(body)}
	}
	i := Info{Readable: true}
	if raw, ok := o.find("code"); ok {
		if n, isNumber := integer(raw); isNumber {
			i.Code = n
		} else {
			i.Code = -1
		}
	}
	if status := o.text("status"); strings.EqualFold(status, "FAILED") {
		i.Code = max(i.Code, 1)
	}
	data, wrapped := o.find("data")
	switch {
	case i.Code != 0:
		i.Message = plainText(data)
		if i.Message == "" {
			i.Message = o.text("msg", "message")
		}
	case !wrapped:
		i.data = bytes.TrimPrefix(bytes.TrimSpace(body), bom)
	case len(data) > 0 && data[0] == '{':
		i.data = data
	}
	return i
}

// parseData reads the frame of an answer, and what it frames into data. What is something else is not Readable.
func parseData(body []byte, data any) Info {
	i := ParseInfo(body)
	if i.OK() && json.Unmarshal(i.data, data) != nil {
		i = unreadable(i, body)
	}
	return i
}

// unreadable is an answer whose frame is right, but not what is in it.
func unreadable(i Info, body []byte) Info {
	i.Readable, i.Message = false, Excerpt(body)
	return i
}

// Column of a table.
type Column struct {
	Name, Type string
	// Key is true for a column of the key; known only when Schema.HasKeys.
	Key bool
}

// Schema is the answer to _schema (Doris: fe TableSchemaAction.java; StarRocks: TableSchemaAction.java).
type Schema struct {
	Info
	// KeysType is DUP_KEYS, UNIQUE_KEYS, AGG_KEYS or PRIMARY_KEYS; "" for tables of other kinds.
	KeysType string
	Columns  []Column
	// HasKeys is true when the answer tells which columns are the key.
	HasKeys bool
}

// ParseSchema reads the answer to _schema. It takes any bytes.
func ParseSchema(body []byte) Schema {
	var data struct {
		Status     json.RawMessage `json:"status"`
		Exception  string          `json:"exception"`
		KeysType   string          `json:"keysType"`
		Properties []struct {
			Name        string `json:"name"`
			Type        string `json:"type"`
			Aggregation string `json:"aggregation_type"`
		} `json:"properties"`
	}
	s := Schema{Info: parseData(body, &data)}
	if !s.OK() {
		return s
	}
	// A refusal is a success with a status in it.
	if status, ok := integer(data.Status); !ok || status != 200 {
		s.Code, s.Message = max(status, 1), data.Exception
		return s
	}
	s.KeysType = data.KeysType
	for _, p := range data.Properties {
		// Columns of the key have no aggregation; the others have one, NONE where there is nothing to aggregate.
		s.Columns = append(s.Columns, Column{Name: p.Name, Type: p.Type, Key: p.Aggregation == ""})
		s.HasKeys = s.HasKeys || p.Aggregation != ""
	}
	return s
}

// Backend is a BE as an FE names it.
type Backend struct {
	Host  string
	Port  int
	Alive bool
}

// ParseBackends reads the answer to backends (Doris: fe BackendsAction.java). It takes any bytes.
func ParseBackends(body []byte) ([]Backend, Info) {
	var data struct {
		Backends []struct {
			IP    string `json:"ip"`
			Port  int    `json:"http_port"`
			Alive bool   `json:"is_alive"`
		} `json:"backends"`
	}
	i := parseData(body, &data)
	if !i.OK() {
		return nil, i
	}
	var list []Backend
	for _, b := range data.Backends {
		list = append(list, Backend{b.IP, b.Port, b.Alive})
	}
	return list, i
}

// ParseSettings reads the answer to config/fe: the settings of an FE by name (Doris: fe ConfigController.java). It takes any bytes.
func ParseSettings(body []byte) (map[string]string, Info) {
	var data struct {
		Rows []struct {
			Name  string `json:"Name"`
			Value string `json:"Value"`
		} `json:"rows"`
	}
	i := parseData(body, &data)
	if i.OK() && len(data.Rows) == 0 {
		i = unreadable(i, body)
	}
	if !i.OK() {
		return nil, i
	}
	settings := make(map[string]string, len(data.Rows))
	for _, row := range data.Rows {
		settings[row.Name] = row.Value
	}
	return settings, i
}

// Whole is a setting that is a whole number.
func Whole(settings map[string]string, name string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(settings[name]), 10, 64)
	return n, err == nil
}
