package script

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var token = regexp.MustCompile(`\{\{([A-Z0-9_]+)(?::([^{}]*))?\}\}`)

// maxPad bounds {{PAD:n}}: a case may be large, but not by accident.
const maxPad = 64 << 20

// Expand replaces the tokens of text: {{NAME}} by values[NAME], {{PAD:n}} by n
// letters, {{HEX:..}} by these bytes. The result is not always valid UTF-8. A
// token without a value is an error.
func Expand(text string, values map[string]string) (string, error) {
	var first error
	fail := func(format string, args ...any) string {
		if first == nil {
			first = fmt.Errorf(format, args...)
		}
		return ""
	}
	expanded := token.ReplaceAllStringFunc(text, func(found string) string {
		parts := token.FindStringSubmatch(found)
		name, argument := parts[1], parts[2]
		switch name {
		case "PAD":
			n, err := strconv.Atoi(argument)
			if err != nil || n < 0 || n > maxPad {
				return fail("%s: not a usable length", found)
			}
			return strings.Repeat("x", n)
		case "HEX":
			raw, err := hex.DecodeString(argument)
			if err != nil {
				return fail("%s: %w", found, err)
			}
			return string(raw)
		}
		value, ok := values[name]
		if !ok || argument != "" {
			return fail("%s has no value here", found)
		}
		return value
	})
	return expanded, first
}
