// Package coltype holds the column types that the emulator knows, and the
// conversion of source text to their values.
package coltype

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Kind is a family of types.
type Kind int

// The kinds of columns.
const (
	Boolean Kind = iota + 1
	TinyInt
	SmallInt
	Int
	BigInt
	LargeInt
	Decimal
	Float
	Double
	Char
	Varchar
	String
	Date
	DateTime
	JSON
	Array
)

var names = map[Kind]string{
	Boolean: "BOOLEAN", TinyInt: "TINYINT", SmallInt: "SMALLINT", Int: "INT", BigInt: "BIGINT",
	LargeInt: "LARGEINT", Decimal: "DECIMAL", Float: "FLOAT", Double: "DOUBLE", Char: "CHAR",
	Varchar: "VARCHAR", String: "STRING", Date: "DATE", DateTime: "DATETIME", JSON: "JSON", Array: "ARRAY",
}

// aliases maps every accepted spelling to its kind.
var aliases = map[string]Kind{
	"BOOL": Boolean, "INTEGER": Int, "DECIMALV3": Decimal, "DECIMALV2": Decimal, "NUMERIC": Decimal,
	"TEXT": String, "DATEV2": Date, "DATETIMEV2": DateTime, "JSONB": JSON,
}

func init() {
	for kind, name := range names {
		aliases[name] = kind
	}
}

// Type is the type of a column.
type Type struct {
	Kind Kind
	// Len is the length of CHAR and VARCHAR in bytes.
	Len int
	// Precision and Scale belong to DECIMAL; Scale is also the number of
	// fraction digits of DATETIME.
	Precision, Scale int
	// Elem is the type of the elements of ARRAY.
	Elem *Type
}

var (
	form      = regexp.MustCompile(`(?is)^\s*([a-z0-9]+)\s*(?:\(\s*(\d+|\*)\s*(?:,\s*(\d+)\s*)?\))?\s*$`)
	arrayForm = regexp.MustCompile(`(?is)^\s*array\s*<(.*)>\s*$`)
)

// Parse reads a type as it is written in a CREATE TABLE statement. Types that
// the emulator has no values for (MAP, STRUCT, VARIANT, BITMAP, HLL, ...) are
// an error.
func Parse(text string) (Type, error) {
	return parse(text, 0)
}

func parse(text string, depth int) (Type, error) {
	if m := arrayForm.FindStringSubmatch(text); m != nil {
		if depth > 8 {
			return Type{}, fmt.Errorf("column type %q is nested too deep", text)
		}
		elem, err := parse(m[1], depth+1)
		if err != nil {
			return Type{}, err
		}
		return Type{Kind: Array, Elem: &elem}, nil
	}
	m := form.FindStringSubmatch(text)
	if m == nil {
		return Type{}, fmt.Errorf("column type %q is not supported by the emulator", text)
	}
	kind, ok := aliases[strings.ToUpper(m[1])]
	if !ok || kind == Array {
		return Type{}, fmt.Errorf("column type %q is not supported by the emulator", text)
	}
	t := Type{Kind: kind}
	first, second := number(m[2]), number(m[3])
	bad := func(why string) (Type, error) { return Type{}, fmt.Errorf("column type %q: %s", text, why) }
	switch kind {
	case Char:
		if t.Len = max(first, 1); first > 255 {
			return bad("the length of CHAR is 1 to 255")
		}
	case Varchar:
		if t.Len = first; first <= 0 || first > 65533 {
			t.Len = 65533
			if first > 65533 {
				return bad("the length of VARCHAR is 1 to 65533")
			}
		}
	case Decimal:
		if t.Precision, t.Scale = first, max(second, 0); first < 0 {
			t.Precision = 38
			if second < 0 {
				t.Scale = 9
			}
		}
		if t.Precision < 1 || t.Precision > 76 || t.Scale > t.Precision {
			return bad("the precision of DECIMAL is 1 to 76 and not below the scale")
		}
	case DateTime:
		if t.Scale = max(first, 0); t.Scale > 6 {
			return bad("the precision of DATETIME is 0 to 6")
		}
	default:
		if second >= 0 {
			return bad("takes no scale")
		}
		// INT(11) and the like: a display width says nothing.
	}
	return t, nil
}

func number(text string) int {
	if text == "" || text == "*" {
		return -1
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 1 << 30
	}
	return n
}

// String writes the type as SHOW COLUMNS does.
func (t Type) String() string {
	switch t.Kind {
	case Char, Varchar:
		return fmt.Sprintf("%s(%d)", names[t.Kind], t.Len)
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	case DateTime:
		if t.Scale > 0 {
			return fmt.Sprintf("DATETIME(%d)", t.Scale)
		}
	case Array:
		return "ARRAY<" + t.Elem.String() + ">"
	}
	return names[t.Kind]
}

// IsText says that every text is a value of the type (within its length).
func (t Type) IsText() bool {
	return t.Kind == Char || t.Kind == Varchar || t.Kind == String
}

// IsNumber says that values of the type can be added.
func (t Type) IsNumber() bool {
	return t.Kind >= TinyInt && t.Kind <= Double
}
