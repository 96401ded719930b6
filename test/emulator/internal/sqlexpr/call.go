package sqlexpr

import (
	"fmt"
	"math/big"
	"strings"
	"unicode/utf8"
)

// function has the bounds of its number of arguments; max < 0 is none. When
// nulls is false a NULL argument makes the result NULL without a call.
type function struct {
	min, max int
	nulls    bool
	do       func(args []Value) Value
}

var functions = map[string]function{
	"concat": {1, -1, false, func(a []Value) Value {
		var b strings.Builder
		for _, v := range a {
			b.WriteString(v.text)
		}
		return Text(b.String())
	}},
	"upper":       {1, 1, false, func(a []Value) Value { return Text(strings.ToUpper(a[0].text)) }},
	"ucase":       {1, 1, false, func(a []Value) Value { return Text(strings.ToUpper(a[0].text)) }},
	"lower":       {1, 1, false, func(a []Value) Value { return Text(strings.ToLower(a[0].text)) }},
	"lcase":       {1, 1, false, func(a []Value) Value { return Text(strings.ToLower(a[0].text)) }},
	"trim":        {1, 1, false, func(a []Value) Value { return Text(strings.Trim(a[0].text, " ")) }},
	"ltrim":       {1, 1, false, func(a []Value) Value { return Text(strings.TrimLeft(a[0].text, " ")) }},
	"rtrim":       {1, 1, false, func(a []Value) Value { return Text(strings.TrimRight(a[0].text, " ")) }},
	"reverse":     {1, 1, false, reverse},
	"length":      {1, 1, false, func(a []Value) Value { return integer(len(a[0].text)) }},
	"char_length": {1, 1, false, func(a []Value) Value { return integer(utf8.RuneCountInString(a[0].text)) }},
	"substr":      {2, 3, false, substr},
	"substring":   {2, 3, false, substr},
	"left":        {2, 2, false, func(a []Value) Value { return substr([]Value{a[0], integer(1), a[1]}) }},
	"replace": {3, 3, false, func(a []Value) Value {
		if a[1].text == "" {
			return a[0]
		}
		return Text(strings.ReplaceAll(a[0].text, a[1].text, a[2].text))
	}},
	"abs": {1, 1, false, func(a []Value) Value {
		n, ok := a[0].rat()
		if !ok {
			return Null()
		}
		return fromRat(new(big.Rat).Abs(n))
	}},
	"mod":      {2, 2, false, func(a []Value) Value { return arithmetic("%", a[0], a[1]) }},
	"ifnull":   {2, 2, true, coalesce},
	"nvl":      {2, 2, true, coalesce},
	"coalesce": {1, -1, true, coalesce},
	"nullif": {2, 2, true, func(a []Value) Value {
		if n, ok := order(a[0], a[1]); ok && n == 0 {
			return Null()
		}
		return a[0]
	}},
	"if": {3, 3, true, func(a []Value) Value {
		if a[0].Truth() == Yes {
			return a[1]
		}
		return a[2]
	}},
}

// call makes a call of a known function with a fitting number of arguments.
func call(fn string, args []*Expr) (*Expr, error) {
	f, ok := functions[fn]
	if !ok {
		return nil, fmt.Errorf("Can not found function '%s' (or the emulator does not support it)", fn) //nolint:staticcheck // the server's words
	}
	if len(args) < f.min || f.max >= 0 && len(args) > f.max {
		return nil, fmt.Errorf("Can not found function '%s' which has %d arity", fn, len(args)) //nolint:staticcheck // the server's words
	}
	return &Expr{op: "call", text: fn, args: args}, nil
}

func (e *Expr) call(env Env) Value {
	f := functions[e.text]
	args := make([]Value, len(e.args))
	for i, a := range e.args {
		if args[i] = a.Eval(env); args[i].Null && !f.nulls {
			return Null()
		}
	}
	return f.do(args)
}

func integer(n int) Value { return fromRat(new(big.Rat).SetInt64(int64(n))) }

func coalesce(a []Value) Value {
	for _, v := range a {
		if !v.Null {
			return v
		}
	}
	return Null()
}

func reverse(a []Value) Value {
	runes := []rune(a[0].text)
	for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
		runes[i], runes[j] = runes[j], runes[i]
	}
	return Text(string(runes))
}

// substr counts characters from 1, or from the end when the position is
// negative; position 0 gives an empty text.
func substr(a []Value) Value {
	runes := []rune(a[0].text)
	pos, ok := small(a[1])
	count := len(runes)
	if len(a) == 3 {
		n, good := small(a[2])
		count, ok = n, ok && good
	}
	if !ok {
		return Null()
	}
	if pos < 0 {
		pos += len(runes) + 1
	}
	if pos < 1 || pos > len(runes) || count <= 0 {
		return Text("")
	}
	return Text(string(runes[pos-1 : min(len(runes), pos-1+min(count, len(runes)))]))
}

// small reads a value as an int that is safe to add.
func small(v Value) (int, bool) {
	n, ok := v.rat()
	if !ok {
		return 0, false
	}
	whole := new(big.Int).Quo(n.Num(), n.Denom())
	if whole.BitLen() > 31 {
		return whole.Sign() * (1 << 31), true
	}
	return int(whole.Int64()), true
}
