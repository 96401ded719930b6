// Package sqlexpr reads and evaluates the small part of SQL that the headers
// columns, where and delete of a load may use with the emulator: names,
// literals, arithmetic, comparisons, AND, OR, NOT, IN, BETWEEN, IS NULL, CASE
// and some functions. Everything else is refused when it is parsed.
package sqlexpr

import (
	"math/big"
	"strings"

	"github.com/dorisload/benthos-doris/test/emulator/internal/coltype"
)

// Value is NULL, a text, an exact number, or a date with or without a time.
type Value struct {
	Null bool
	text string
	num  *big.Rat
	time bool // text is the value of a DATE or DATETIME column
}

// Env gives the value of a name; false when there is none.
type Env func(name string) (Value, bool)

// Null is the NULL value.
func Null() Value { return Value{Null: true} }

// Text is a string value. Where a number is needed its text is read as one.
func Text(s string) Value { return Value{text: s} }

// Time is a DATE or DATETIME value. It is compared with what can be read as one.
func Time(s string) Value { return Value{text: s, time: true} }

// Number is a numeric value; a text that is no number stays a text.
func Number(s string) Value {
	n, err := coltype.Rat(s)
	if err != nil {
		return Text(s)
	}
	return Value{text: s, num: n}
}

func fromRat(n *big.Rat) Value { return Value{text: ratText(n), num: n} }

func boolValue(b bool) Value {
	if b {
		return Number("1")
	}
	return Number("0")
}

func ratText(n *big.Rat) string {
	if n.IsInt() {
		return n.Num().String()
	}
	digits, exact := n.FloatPrec()
	if !exact {
		digits = 17
	}
	out := n.FloatString(digits)
	if strings.Contains(out, ".") {
		out = strings.TrimRight(strings.TrimRight(out, "0"), ".")
	}
	return out
}

// String is the text that is stored for the value; empty for NULL.
func (v Value) String() string { return v.text }

// rat reads the value as a number; false for NULL and for other texts.
func (v Value) rat() (*big.Rat, bool) {
	if v.Null {
		return nil, false
	}
	if v.num != nil {
		return v.num, true
	}
	n, err := coltype.Rat(v.text)
	return n, err == nil
}

// Truth is the value of a condition in three-valued logic.
type Truth int

// The truth values.
const (
	No Truth = iota
	Yes
	Maybe
)

// Truth reads the value as a condition.
func (v Value) Truth() Truth {
	if v.Null {
		return Maybe
	}
	switch strings.ToLower(v.text) {
	case "true":
		return Yes
	case "false":
		return No
	}
	n, ok := v.rat()
	if !ok {
		return Maybe
	}
	if n.Sign() == 0 {
		return No
	}
	return Yes
}

func (t Truth) value() Value {
	if t == Maybe {
		return Null()
	}
	return boolValue(t == Yes)
}

// order compares two values; false when one is NULL, or is no number or time
// where the other is one.
func order(a, b Value) (int, bool) {
	if a.Null || b.Null {
		return 0, false
	}
	if a.time || b.time {
		x, okX := coltype.Time(a.text)
		y, okY := coltype.Time(b.text)
		return x.Compare(y), okX && okY
	}
	if a.num == nil && b.num == nil {
		return strings.Compare(a.text, b.text), true
	}
	x, okX := a.rat()
	y, okY := b.rat()
	if !okX || !okY {
		return 0, false
	}
	return x.Cmp(y), true
}
