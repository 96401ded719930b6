package coltype

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// ErrValue says that a text is no value of the type.
var ErrValue = errors.New("not a value of the column type")

// LengthError says that a text is longer than its column. The row is filtered
// whether strict mode is on or not.
type LengthError struct {
	Text string
	Len  int
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("the length of input is too long than schema. first 32 bytes of input str: [%s] schema length: %d; actual length: %d; ",
		strings.ToValidUTF8(e.Text[:min(32, len(e.Text))], ""), e.Len, len(e.Text))
}

// Convert turns source text into a value: bool, int64, json.Number (LARGEINT,
// DECIMAL: all digits kept), float64, string (texts, DATE, DATETIME) or
// json.RawMessage (JSON, ARRAY). zone is used for DATETIME texts that carry an
// offset.
func (t Type) Convert(text string, zone *time.Location) (any, error) {
	switch t.Kind {
	case Boolean:
		return boolean(text)
	case TinyInt:
		return integer(text, 8)
	case SmallInt:
		return integer(text, 16)
	case Int:
		return integer(text, 32)
	case BigInt:
		return integer(text, 64)
	case LargeInt:
		return integer(text, 128)
	case Decimal:
		return t.decimal(text)
	case Float:
		return float(text, 32)
	case Double:
		return float(text, 64)
	case Char, Varchar:
		if len(text) > t.Len {
			return nil, &LengthError{Text: text, Len: t.Len}
		}
		return text, nil
	case String:
		return text, nil
	case Date:
		when, err := parseTime(text, zone)
		if err != nil {
			return nil, err
		}
		return when.Format(time.DateOnly), nil
	case DateTime:
		when, err := parseTime(text, zone)
		if err != nil {
			return nil, err
		}
		layout := time.DateTime
		if t.Scale > 0 {
			layout += "." + strings.Repeat("0", t.Scale)
		}
		return when.Round(time.Duration(math.Pow10(9 - t.Scale))).Format(layout), nil
	case JSON:
		if !json.Valid([]byte(text)) {
			return nil, ErrValue
		}
		return json.RawMessage(strings.TrimSpace(text)), nil
	case Array:
		return t.array(text, zone)
	}
	return nil, ErrValue
}

func boolean(text string) (any, error) {
	switch text = strings.TrimSpace(text); {
	case text == "1" || strings.EqualFold(text, "true") || strings.EqualFold(text, "t"):
		return true, nil
	case text == "0" || strings.EqualFold(text, "false") || strings.EqualFold(text, "f"):
		return false, nil
	}
	return nil, ErrValue
}

// integer reads a whole number. As in the server's parser a fraction of digits
// after the number is cut off.
func integer(text string, bits uint) (any, error) {
	text = strings.TrimSpace(text)
	whole, fraction, cut := strings.Cut(text, ".")
	if cut && strings.Trim(fraction, "0123456789") != "" {
		return nil, ErrValue
	}
	if strings.Trim(strings.TrimLeft(whole, "+-"), "0123456789") != "" {
		return nil, ErrValue // no underscores, no second sign
	}
	if bits <= 64 {
		n, err := strconv.ParseInt(whole, 10, int(bits))
		if err != nil {
			return nil, ErrValue
		}
		return n, nil
	}
	if len(whole) > 64 {
		return nil, ErrValue
	}
	n, ok := new(big.Int).SetString(whole, 10)
	if !ok || n.BitLen() > 127 && n.Cmp(minLarge) != 0 {
		return nil, ErrValue
	}
	return json.Number(n.String()), nil
}

var minLarge = new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), 127))

func (t Type) decimal(text string) (any, error) {
	n, err := Rat(text)
	if err != nil {
		return nil, err
	}
	// Half away from zero, as the server rounds surplus digits.
	out := n.FloatString(t.Scale)
	whole, _, _ := strings.Cut(strings.TrimPrefix(out, "-"), ".")
	if len(strings.TrimLeft(whole, "0")) > t.Precision-t.Scale {
		return nil, ErrValue
	}
	if strings.Trim(out, "-0.") == "" {
		out = strings.TrimPrefix(out, "-")
	}
	return json.Number(out), nil
}

// Rat reads a decimal number with optional fraction and exponent, exactly.
func Rat(text string) (*big.Rat, error) {
	text = strings.TrimSpace(text)
	mantissa := text
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa = text[:i]
		// A large exponent would need memory without end.
		if e, err := strconv.Atoi(text[i+1:]); err != nil || e < -400 || e > 400 {
			return nil, ErrValue
		}
	}
	body := strings.TrimLeft(mantissa, "+-")
	if len(mantissa)-len(body) > 1 || len(body) > 1000 || strings.Trim(body, "0123456789.") != "" || strings.Trim(body, ".") == "" {
		return nil, ErrValue
	}
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, ErrValue
	}
	return n, nil
}

func float(text string, bits int) (any, error) {
	text = strings.TrimSpace(text)
	if strings.ContainsAny(text, "_xXpP") {
		return nil, ErrValue
	}
	f, err := strconv.ParseFloat(text, bits)
	if err != nil {
		return nil, ErrValue
	}
	return f, nil
}

// array reads a JSON array and converts its elements one by one.
func (t Type) array(text string, zone *time.Location) (any, error) {
	var items []json.RawMessage
	if err := json.Unmarshal([]byte(text), &items); err != nil || items == nil {
		return nil, ErrValue
	}
	out := make([]any, len(items))
	for i, item := range items {
		source := string(item)
		switch item[0] {
		case 'n':
			continue
		case '"':
			if err := json.Unmarshal(item, &source); err != nil {
				return nil, ErrValue
			}
		}
		value, err := t.Elem.Convert(source, zone)
		if err != nil {
			return nil, ErrValue
		}
		if f, ok := value.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
			return nil, ErrValue
		}
		out[i] = value
	}
	encoded, err := json.Marshal(out)
	return json.RawMessage(encoded), err
}

var layouts = []string{
	"2006-1-2 15:4:5.999999999Z07:00", "2006-1-2 15:4:5.999999999", "2006-1-2 15:4:5", "2006-1-2 15:4", "2006-1-2 15", "2006-1-2",
	"20060102150405.999999999", "20060102150405", "20060102",
}

// Time reads a DATE or DATETIME text as a point on the clock, for comparisons.
func Time(text string) (time.Time, bool) {
	when, err := parseTime(text, time.UTC)
	return when, err == nil
}

// parseTime reads a DATE or DATETIME text. The result is the wall clock in
// zone, expressed in UTC.
func parseTime(text string, zone *time.Location) (time.Time, error) {
	text = strings.TrimSpace(text)
	if len(text) > 40 || len(text) < 8 {
		return time.Time{}, ErrValue
	}
	text = strings.NewReplacer("/", "-", "T", " ", "t", " ").Replace(text)
	for _, layout := range layouts {
		when, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if strings.HasSuffix(layout, "Z07:00") {
			if zone == nil {
				zone = time.UTC
			}
			when = when.In(zone)
			_, offset := when.Zone()
			when = when.UTC().Add(time.Duration(offset) * time.Second)
		}
		if y := when.Year(); y < 0 || y > 9999 {
			return time.Time{}, ErrValue
		}
		return when, nil
	}
	return time.Time{}, ErrValue
}
