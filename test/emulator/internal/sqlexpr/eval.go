package sqlexpr

import (
	"math/big"
	"slices"
)

// Eval gives the value of the expression. A name that env does not know is
// NULL; who plans a load checks Names before.
func (e *Expr) Eval(env Env) Value {
	switch e.op {
	case "value":
		return e.val
	case "name":
		v, ok := env(e.text)
		if !ok {
			return Null()
		}
		return v
	case "call":
		return e.call(env)
	case "and", "or":
		return e.logic(env)
	case "not":
		switch t := e.args[0].Eval(env).Truth(); t {
		case Yes:
			return No.value()
		case No:
			return Yes.value()
		}
		return Null()
	case "isnull":
		return boolValue(e.args[0].Eval(env).Null)
	case "in":
		return e.in(env)
	case "+", "-", "*", "/", "%":
		return arithmetic(e.op, e.args[0].Eval(env), e.args[1].Eval(env))
	}
	return compareOp(e.op, e.args[0].Eval(env), e.args[1].Eval(env))
}

// True says whether the condition holds; NULL does not.
func (e *Expr) True(env Env) bool { return e.Eval(env).Truth() == Yes }

func (e *Expr) logic(env Env) Value {
	decisive := No
	if e.op == "or" {
		decisive = Yes
	}
	left := e.args[0].Eval(env).Truth()
	if left == decisive {
		return left.value()
	}
	right := e.args[1].Eval(env).Truth()
	if right == decisive {
		return right.value()
	}
	if left == Maybe || right == Maybe {
		return Null()
	}
	return right.value()
}

func (e *Expr) in(env Env) Value {
	want := e.args[0].Eval(env)
	if want.Null {
		return Null()
	}
	null := false
	for _, a := range e.args[1:] {
		v := a.Eval(env)
		n, ok := order(want, v)
		if ok && n == 0 {
			return boolValue(true)
		}
		null = null || v.Null
	}
	if null {
		return Null()
	}
	return boolValue(false)
}

func compareOp(op string, a, b Value) Value {
	if op == "<=>" {
		if a.Null || b.Null {
			return boolValue(a.Null && b.Null)
		}
		op = "="
	}
	n, ok := order(a, b)
	if !ok {
		return Null()
	}
	return boolValue(slices.Contains(map[string][]int{"=": {0}, "!=": {-1, 1}, "<": {-1}, "<=": {-1, 0}, ">": {1}, ">=": {0, 1}}[op], n))
}

func arithmetic(op string, a, b Value) Value {
	x, okX := a.rat()
	y, okY := b.rat()
	if !okX || !okY {
		return Null()
	}
	out := new(big.Rat)
	switch op {
	case "+":
		return fromRat(out.Add(x, y))
	case "-":
		return fromRat(out.Sub(x, y))
	case "*":
		return fromRat(out.Mul(x, y))
	}
	if y.Sign() == 0 {
		return Null()
	}
	out.Quo(x, y)
	if op == "/" {
		return fromRat(out)
	}
	// x % y keeps the sign of x, as in C.
	whole := new(big.Rat).SetInt(new(big.Int).Quo(out.Num(), out.Denom()))
	return fromRat(new(big.Rat).Sub(x, whole.Mul(whole, y)))
}
