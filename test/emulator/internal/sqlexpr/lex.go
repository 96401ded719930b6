package sqlexpr

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

type kind int

const (
	end kind = iota
	name
	quotedName
	literal
	number
	symbol
)

type token struct {
	kind kind
	text string
}

func lex(text string) ([]token, error) {
	var out []token
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '`':
			j := strings.IndexByte(text[i+1:], '`')
			if j < 1 {
				return nil, fmt.Errorf("Syntax error: unclosed or empty ` at position %d", i) //nolint:staticcheck // the server's style
			}
			out = append(out, token{quotedName, text[i+1 : i+1+j]})
			i += j + 2
		case c == '\'' || c == '"':
			s, n, err := quoted(text[i:])
			if err != nil {
				return nil, err
			}
			out = append(out, token{literal, s})
			i += n
		case digit(c) || c == '.' && i+1 < len(text) && digit(text[i+1]):
			j := i
			for j < len(text) && (digit(text[j]) || text[j] == '.' || (text[j]|0x20) == 'e' ||
				(text[j] == '-' || text[j] == '+') && (text[j-1]|0x20) == 'e') {
				j++
			}
			if j < len(text) && letter(text[j]) {
				return nil, fmt.Errorf("Syntax error: bad number at position %d", i) //nolint:staticcheck // the server's style
			}
			out = append(out, token{number, text[i:j]})
			i = j
		case letter(c):
			j := i
			for j < len(text) && (letter(text[j]) || digit(text[j])) {
				j++
			}
			out = append(out, token{name, text[i:j]})
			i = j
		default:
			n := 1
			for _, two := range []string{"<=>", "<=", ">=", "!=", "<>", "||", "&&"} {
				if strings.HasPrefix(text[i:], two) {
					n = len(two)
					break
				}
			}
			if n == 1 && !strings.ContainsRune("=<>+-*/%(),", rune(c)) {
				r, _ := utf8.DecodeRuneInString(text[i:])
				return nil, fmt.Errorf("Syntax error: %q at position %d is not supported by the emulator", r, i) //nolint:staticcheck // the server's style
			}
			out = append(out, token{symbol, text[i : i+n]})
			i += n
		}
	}
	return append(out, token{kind: end}), nil
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func letter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

// quoted reads a string literal: \x escapes and doubled quotes.
func quoted(text string) (string, int, error) {
	q := text[0]
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			switch text[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'r':
				b.WriteByte('\r')
			case '0':
				b.WriteByte(0)
			default:
				b.WriteByte(text[i])
			}
		case c == q && i+1 < len(text) && text[i+1] == q:
			b.WriteByte(q)
			i++
		case c == q:
			return b.String(), i + 1, nil
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, errors.New("Syntax error: unclosed string literal") //nolint:staticcheck // the server's style
}
