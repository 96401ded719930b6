package encode

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
	"unsafe"
)

// cell appends any cell.
func (w *CellWriter) cell(dst []byte, v any, at place) ([]byte, error) {
	var scratch [64]byte
	switch v := v.(type) {
	case nil:
		if w.o.Dialect == StarRocks && w.o.Escape == '\\' {
			return append(dst, `\\N`...), nil // it looks for NULL after it has taken the escape away
		}
		return append(dst, null...), nil
	case string:
		return w.text(dst, unsafe.Slice(unsafe.StringData(v), len(v)), at) // text does not change or keep it
	case []byte:
		return w.text(dst, v, at)
	case map[string]any, []any:
		out, err := appendJSON(scratch[:0], v, 0)
		if err != nil {
			return dst, err
		}
		return w.text(dst, out, at)
	}
	out, err := appendScalar(scratch[:0], v)
	if err != nil {
		return dst, err
	}
	return w.text(dst, out, at)
}

// appendScalar appends what is neither null, text nor nested.
func appendScalar(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case uint64:
		return strconv.AppendUint(dst, v, 10), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int32:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int16:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int8:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case uint:
		return strconv.AppendUint(dst, uint64(v), 10), nil
	case uint32:
		return strconv.AppendUint(dst, uint64(v), 10), nil
	case uint16:
		return strconv.AppendUint(dst, uint64(v), 10), nil
	case uint8:
		return strconv.AppendUint(dst, uint64(v), 10), nil
	case float64:
		return appendFloat(dst, v, 64)
	case float32:
		return appendFloat(dst, float64(v), 32)
	case json.Number:
		return append(dst, v...), nil // the digits as they came
	case *big.Int:
		return v.Append(dst, 10), nil
	case *big.Float:
		if v.IsInf() {
			return dst, fmt.Errorf("is %s, which is no number of SQL; make it null or a text", v)
		}
		return v.Append(dst, 'g', -1), nil
	case time.Time:
		return v.AppendFormat(dst, time.RFC3339Nano), nil
	default:
		return dst, fmt.Errorf("is of the type %T, which has no form in CSV; make it a text, a number, a boolean, an object, an array or null", v)
	}
}

// appendFloat appends the shortest text that is read as the same float, without
// an exponent where it is not needed, as encoding/json does.
func appendFloat(dst []byte, f float64, bits int) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, fmt.Errorf("is %v, which is no number of SQL; make it null or a text", f)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, bits), nil
}

// appendJSON appends a value as JSON. Numbers keep their digits, and letters
// stay as they are, which encoding/json would not do with <, > and &.
func appendJSON(dst []byte, v any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return dst, fmt.Errorf("is nested more than %d levels", maxDepth)
	}
	var err error
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case string:
		return appendJSONString(dst, v)
	case []byte:
		return appendJSONString(dst, string(v))
	case time.Time:
		return appendJSONString(dst, v.Format(time.RFC3339Nano))
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendJSON(dst, e, depth+1); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		dst = append(dst, '{')
		for i, key := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendJSONString(dst, key); err != nil {
				return dst, err
			}
			dst = append(dst, ':')
			if dst, err = appendJSON(dst, v[key], depth+1); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	default:
		return appendScalar(dst, v)
	}
}

const hexDigits = "0123456789abcdef"

func appendJSONString(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return dst, fmt.Errorf("holds a text that is not valid UTF-8: %s", excerpt([]byte(s)))
	}
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ':
			dst = append(dst, c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(dst, '"'), nil
}
