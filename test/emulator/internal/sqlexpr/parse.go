package sqlexpr

import (
	"errors"
	"fmt"
	"strings"
)

// Expr is a parsed expression.
type Expr struct {
	op   string // "name", "value", "call", or an operator
	text string // of a name or a function, lower case for the latter
	val  Value
	args []*Expr
}

// Item is one entry of the header columns: a source field, or a column that is
// computed.
type Item struct {
	Name string
	Expr *Expr // nil for a source field
}

// maxDepth bounds the nesting of expressions.
const maxDepth = 200

type parser struct {
	toks  []token
	i     int
	depth int
}

// ParseColumns reads the header columns: names and name = expression, with
// commas between them.
func ParseColumns(text string) ([]Item, error) {
	toks, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &parser{toks: toks}
	var items []Item
	wrapped := p.symbol("(") // columns (a, b) as in SQL
	for {
		t := p.next()
		if t.kind != name && t.kind != quotedName {
			return nil, p.unexpected(t)
		}
		item := Item{Name: t.text}
		if p.symbol("=") {
			if item.Expr, err = p.expr(); err != nil {
				return nil, err
			}
		}
		items = append(items, item)
		if p.symbol(",") {
			continue
		}
		if wrapped && !p.symbol(")") {
			return nil, p.unexpected(p.peek())
		}
		if t := p.peek(); t.kind != end {
			return nil, p.unexpected(t)
		}
		return items, nil
	}
}

// ParseCondition reads the headers where and delete.
func ParseCondition(text string) (*Expr, error) {
	toks, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &parser{toks: toks}
	e, err := p.expr()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != end {
		return nil, p.unexpected(t)
	}
	return e, nil
}

func (p *parser) peek() token { return p.toks[p.i] }

func (p *parser) next() token {
	t := p.toks[p.i]
	if t.kind != end {
		p.i++
	}
	return t
}

func (p *parser) symbol(s string) bool {
	if t := p.peek(); t.kind == symbol && t.text == s {
		p.i++
		return true
	}
	return false
}

func (p *parser) word(w string) bool {
	if t := p.peek(); t.kind == name && strings.EqualFold(t.text, w) {
		p.i++
		return true
	}
	return false
}

func (p *parser) unexpected(t token) error {
	if t.kind == end {
		return errors.New("Syntax error: unexpected end of expression") //nolint:staticcheck // the server's style
	}
	return fmt.Errorf("Syntax error: '%s' is not expected here, or not supported by the emulator", t.text) //nolint:staticcheck // the server's style
}

func (p *parser) expr() (*Expr, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errors.New("Syntax error: the expression is nested too deep") //nolint:staticcheck // the server's style
	}
	defer func() { p.depth-- }()
	return p.binary(0)
}

// levels are the binary operators, the loosest first. NOT stands between AND
// and the comparisons.
var levels = [][]string{{"or", "||"}, {"and", "&&"}, {}, {"+", "-"}, {"*", "/", "%"}}

func (p *parser) binary(level int) (*Expr, error) {
	if level == 2 {
		return p.comparison()
	}
	if level == len(levels) {
		return p.unary()
	}
	left, err := p.binary(level + 1)
	for err == nil {
		op := ""
		for _, o := range levels[level] {
			if p.symbol(o) || level < 2 && p.word(o) {
				op = map[string]string{"||": "or", "&&": "and"}[o]
				if op == "" {
					op = o
				}
				break
			}
		}
		if op == "" {
			return left, nil
		}
		var right *Expr
		right, err = p.binary(level + 1)
		left = &Expr{op: op, args: []*Expr{left, right}}
	}
	return nil, err
}

func (p *parser) comparison() (*Expr, error) {
	if p.word("not") {
		if p.depth++; p.depth > maxDepth {
			return nil, errors.New("Syntax error: the expression is nested too deep") //nolint:staticcheck // the server's style
		}
		defer func() { p.depth-- }()
		arg, err := p.comparison()
		return &Expr{op: "not", args: []*Expr{arg}}, err
	}
	left, err := p.binary(3)
	if err != nil {
		return nil, err
	}
	for _, op := range []string{"=", "!=", "<>", "<=>", "<=", ">=", "<", ">"} {
		if p.symbol(op) {
			right, err := p.binary(3)
			if op == "<>" {
				op = "!="
			}
			return &Expr{op: op, args: []*Expr{left, right}}, err
		}
	}
	if p.word("is") {
		not := p.word("not")
		if !p.word("null") {
			return nil, p.unexpected(p.peek())
		}
		return negated(not, &Expr{op: "isnull", args: []*Expr{left}}), nil
	}
	not := p.word("not")
	switch {
	case p.word("in"):
		if !p.symbol("(") {
			return nil, p.unexpected(p.peek())
		}
		list, err := p.list(left)
		return negated(not, &Expr{op: "in", args: list}), err
	case p.word("between"):
		low, err := p.binary(3)
		if err != nil {
			return nil, err
		}
		if !p.word("and") {
			return nil, p.unexpected(p.peek())
		}
		high, err := p.binary(3)
		return negated(not, &Expr{op: "and", args: []*Expr{{op: ">=", args: []*Expr{left, low}}, {op: "<=", args: []*Expr{left, high}}}}), err
	case not:
		return nil, p.unexpected(p.peek())
	}
	return left, nil
}

func negated(not bool, e *Expr) *Expr {
	if not {
		return &Expr{op: "not", args: []*Expr{e}}
	}
	return e
}

// list reads expressions up to the closing parenthesis.
func (p *parser) list(first ...*Expr) ([]*Expr, error) {
	out := first
	if p.symbol(")") {
		return out, nil
	}
	for {
		e, err := p.expr()
		if err != nil {
			return nil, err
		}
		out = append(out, e)
		if p.symbol(")") {
			return out, nil
		}
		if !p.symbol(",") {
			return nil, p.unexpected(p.peek())
		}
	}
}

func (p *parser) unary() (*Expr, error) {
	minus := false
	for {
		if p.symbol("-") {
			minus = !minus
		} else if !p.symbol("+") {
			break
		}
	}
	e, err := p.primary()
	if minus && err == nil {
		e = &Expr{op: "-", args: []*Expr{{op: "value", val: Number("0")}, e}}
	}
	return e, err
}

// keywords cannot be names without backquotes.
const keywords = " and or not in is null between case when then else end like regexp rlike select from where interval cast "

func (p *parser) primary() (*Expr, error) {
	t := p.next()
	switch {
	case t.kind == literal:
		return &Expr{op: "value", val: Text(t.text)}, nil
	case t.kind == number:
		v := Number(t.text)
		if v.num == nil {
			return nil, p.unexpected(t)
		}
		return &Expr{op: "value", val: v}, nil
	case t.kind == quotedName:
		return &Expr{op: "name", text: t.text}, nil
	case t.kind == symbol && t.text == "(":
		e, err := p.expr()
		if err == nil && !p.symbol(")") {
			err = p.unexpected(p.peek())
		}
		return e, err
	case t.kind != name:
		return nil, p.unexpected(t)
	}
	low := strings.ToLower(t.text)
	switch {
	case low == "null":
		return &Expr{op: "value", val: Null()}, nil
	case low == "true", low == "false":
		return &Expr{op: "value", val: boolValue(low == "true")}, nil
	case low == "case":
		return p.caseWhen()
	case (low == "if" || !strings.Contains(keywords, " "+low+" ")) && p.symbol("("):
		args, err := p.list()
		if err != nil {
			return nil, err
		}
		return call(low, args)
	case strings.Contains(keywords, " "+low+" "):
		return nil, p.unexpected(t)
	}
	return &Expr{op: "name", text: t.text}, nil
}

// caseWhen reads CASE WHEN c THEN v ... [ELSE v] END as nested ifs.
func (p *parser) caseWhen() (*Expr, error) {
	var arms []*Expr
	for p.word("when") {
		cond, err := p.expr()
		if err != nil {
			return nil, err
		}
		if !p.word("then") {
			return nil, p.unexpected(p.peek())
		}
		val, err := p.expr()
		if err != nil {
			return nil, err
		}
		arms = append(arms, cond, val)
	}
	if len(arms) == 0 {
		return nil, p.unexpected(p.peek())
	}
	last := &Expr{op: "value", val: Null()}
	if p.word("else") {
		var err error
		if last, err = p.expr(); err != nil {
			return nil, err
		}
	}
	if !p.word("end") {
		return nil, p.unexpected(p.peek())
	}
	for i := len(arms) - 2; i >= 0; i -= 2 {
		last = &Expr{op: "call", text: "if", args: []*Expr{arms[i], arms[i+1], last}}
	}
	return last, nil
}

// Names lists the names that the expression refers to, with repetitions.
func (e *Expr) Names() []string {
	if e.op == "name" {
		return []string{e.text}
	}
	var out []string
	for _, a := range e.args {
		out = append(out, a.Names()...)
	}
	return out
}
