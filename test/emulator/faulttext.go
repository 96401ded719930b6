package emulator

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseFault reads a fault as it is written on the command line:
//
//	point:key=value,key=value,...
//
// with the keys do (required), times, skip, db, table, label, op, p (probability),
// keep, commit-after, for, bytes, status, body, content-type, location and message.
// Values with commas are put in double quotes, with \" and \\ inside.
//
//	be.before-commit:times=3,do=reset
//	be.answer:do=http,status=503,body="busy, try later",times=1
func ParseFault(text string) (Fault, error) {
	point, rest, ok := strings.Cut(strings.TrimSpace(text), ":")
	if !ok {
		return Fault{}, fmt.Errorf("fault %q: want point:key=value and more with commas between them", text)
	}
	f := Fault{At: Point(strings.TrimSpace(point))}
	for rest = strings.TrimSpace(rest); rest != ""; {
		var key, value string
		if key, rest, ok = strings.Cut(rest, "="); !ok {
			return Fault{}, fmt.Errorf("fault %q: %q has no value", text, key)
		}
		if strings.HasPrefix(rest, `"`) {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return Fault{}, fmt.Errorf("fault %q: the value of %s is not quoted well", text, key)
			}
			rest = rest[len(quoted):]
			if value, err = strconv.Unquote(quoted); err != nil {
				return Fault{}, fmt.Errorf("fault %q: the value of %s: %w", text, key, err)
			}
			if rest != "" && !strings.HasPrefix(rest, ",") {
				return Fault{}, fmt.Errorf("fault %q: want a comma after the value of %s", text, key)
			}
			rest = strings.TrimPrefix(rest, ",")
		} else {
			value, rest, _ = strings.Cut(rest, ",")
		}
		if err := f.set(strings.TrimSpace(key), value); err != nil {
			return Fault{}, fmt.Errorf("fault %q: %w", text, err)
		}
	}
	if f.Do == "" {
		return Fault{}, fmt.Errorf("fault %q: do=... is missing", text)
	}
	if err := f.Validate(); err != nil {
		return Fault{}, fmt.Errorf("fault %q: %w", text, err)
	}
	return f, nil
}

func (f *Fault) set(key, value string) (err error) {
	switch key {
	case "do":
		f.Do = Action(value)
	case "times":
		f.Times, err = strconv.Atoi(value)
	case "skip":
		f.Skip, err = strconv.Atoi(value)
	case "db":
		f.DB = value
	case "table":
		f.Table = value
	case "label":
		f.Label = value
	case "op":
		f.Op = value
	case "p":
		f.Probability, err = strconv.ParseFloat(value, 64)
	case "keep":
		f.Keep, err = strconv.ParseBool(value)
	case "commit-after":
		f.CommitAfter, err = time.ParseDuration(value)
	case "for":
		f.For, err = time.ParseDuration(value)
	case "bytes":
		f.Bytes, err = strconv.ParseInt(value, 10, 64)
	case "status":
		f.Status, err = strconv.Atoi(value)
	case "body":
		f.Body = value
	case "content-type":
		f.ContentType = value
	case "location":
		f.Location = value
	case "message":
		f.Message = value
	default:
		return fmt.Errorf("unknown key %q", key)
	}
	return err
}

// String writes the fault in the form that ParseFault reads.
func (f Fault) String() string {
	out := string(f.At) + ":do=" + string(f.Do)
	add := func(key, value string, on bool) {
		if on {
			if strings.ContainsAny(value, ",\"\n\\") || strings.TrimSpace(value) != value {
				value = strconv.Quote(value)
			}
			out += "," + key + "=" + value
		}
	}
	add("times", strconv.Itoa(f.Times), f.Times > 0)
	add("skip", strconv.Itoa(f.Skip), f.Skip > 0)
	add("db", f.DB, f.DB != "")
	add("table", f.Table, f.Table != "")
	add("label", f.Label, f.Label != "")
	add("op", f.Op, f.Op != "")
	add("p", strconv.FormatFloat(f.Probability, 'g', -1, 64), f.Probability > 0)
	add("keep", "true", f.Keep)
	add("commit-after", f.CommitAfter.String(), f.CommitAfter > 0)
	add("for", f.For.String(), f.For > 0)
	add("bytes", strconv.FormatInt(f.Bytes, 10), f.Bytes > 0)
	add("status", strconv.Itoa(f.Status), f.Status > 0)
	add("body", f.Body, f.Body != "")
	add("content-type", f.ContentType, f.ContentType != "")
	add("location", f.Location, f.Location != "")
	add("message", f.Message, f.Message != "")
	return out
}
