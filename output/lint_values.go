package output

import (
	"encoding/json"
	"fmt"

	"github.com/dorisload/benthos-doris/streamload"
)

// Lints of values that the constructor refuses too, in the same words. They use nothing but what every Benthos has, since a schema may be taken
// to another one. A value of a wrong type is left to the linter itself, and one with "${" in it is not known yet: in Markdown the linter leaves
// variables of the environment as they are. One that is not set is empty.

// What time.ParseDuration takes, and what of it is 0.
const (
	durationForm = `^[-+]?(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`
	zeroDuration = `^[-+]?(0|((0+[.]?0*|[.]0+)(ns|us|µs|μs|ms|s|m|h))+)$`
)

// positiveLint is for a duration of more than 0.
func positiveLint(field string) string {
	return durationLint(field, fmt.Sprintf(`$text.re_match(%q) || $text.has_prefix("-")`, zeroDuration), "it must be more than 0")
}

// boundLint is for a duration that may be 0.
func boundLint(field string) string {
	return durationLint(field, fmt.Sprintf(`$text.has_prefix("-") && !$text.re_match(%q)`, zeroDuration), "it must not be negative (0s sets no bound)")
}

// notNegativeLint is for a duration of which 0 is nothing special.
func notNegativeLint(field string) string {
	return durationLint(field, fmt.Sprintf(`$text.has_prefix("-") && !$text.re_match(%q)`, zeroDuration), "it must not be negative")
}

func durationLint(field, refused, must string) string {
	return fmt.Sprintf(`
let text = this.string()
root = match {
  $text == "" || $text.contains("${") => []
  !$text.re_match(%q) => [ "%s is %%v, which is no duration; write for instance 500ms, 30s or 5m".format($text.format_json(no_indent: true).string()) ],
  %s => [ "%s is %%v; %s".format($text) ],
  _ => []
}`, durationForm, field, refused, field, must)
}

// intervalLists makes the list $intervals for specLint: series of waits that do not fit together, and times that are out of bounds. Durations are compared in nanoseconds; one that
// cannot be read, or is not known yet, is left to the lint of its own field.
var intervalLists = fmt.Sprintf(`
map unit {
  root = match this {
    "h" => 3600000000000
    "m" => 60000000000
    "s" => 1000000000
    "ms" => 1000000
    "ns" => 1
    _ => 1000
  }
}

map nanoseconds {
  let text = this.string()
  let parts = if $text.re_match(%q) { $text.re_find_all_submatch("([0-9.]+)(ns|us|µs|μs|ms|s|m|h)") } else { [] }
  let sum = $parts.map_each(part -> part.index(1).number() * part.index(2).apply("unit")).sum().round()
  root = if $text.has_prefix("-") { 0 } else { $sum }
}

map interval_problem {
  let first = this.initial_interval.apply("nanoseconds")
  let last = this.max_interval.apply("nanoseconds")
  root = match {
    $first == 0 => null
    $first < 1000000 => "has an initial_interval of %%v; it must be at least 1ms".format(this.initial_interval.string())
    $last == 0 || $first <= $last => null
    _ => "has a max_interval of %%v, which is shorter than its initial_interval of %%v".format(this.max_interval.string(), this.initial_interval.string())
  }
}

let backoff_problem = this.backoff.apply("interval_problem").catch(null)
let poll_problem = this.label_poll.apply("interval_problem").catch(null)
let timeout_time = this.timeout.apply("nanoseconds").catch(0)
let collecting = if this.dialect == "starrocks" { this.merge_commit_interval.apply("nanoseconds").catch(0) } else { 0 }
let intervals = [
  if $timeout_time > 259200000000000 { "timeout is %%v; it must be between 1s and 72h".format(this.timeout.string()) },
  if $collecting > 0 && $collecting < 1000000 { "merge_commit_interval is %%v; it must be at least 1ms".format(this.merge_commit_interval.string()) },
  if $backoff_problem != null { "backoff " + $backoff_problem },
  if $poll_problem != null { "label_poll " + $poll_problem },
].filter(text -> text != null)
`, durationForm)

// addressMap says what is wrong with the address of a server, null if nothing. It does not repeat the address, which may have a password in it.
const addressMap = `
map address {
  let whole = if this.contains("://") { this } else { "http://" + this }
  let scheme = $whole.re_replace_all("(?s)://.*", "")
  let rest = $whole.re_replace_all("(?s)^.*?://", "")
  let authority = $rest.re_replace_all("(?s)[/?#].*", "")
  let host = $authority.re_replace_all("(?s)^.*@", "")
  let port = $host.re_find_all("(?s):[^\\]:]*$").index(0).catch("").trim_prefix(":")
  root = match {
    $host.re_find_all(":").length() > 1 && !$host.contains("[") => "has several colons in its host; an IPv6 address must be in brackets, for instance http://[2001:db8::1]:8030"
    $port.re_match("[^0-9]") || $host.re_match("[ \t\r\n]") => "is no URL"
    ![ "http", "https" ].contains($scheme.lowercase()) => "has the scheme %v; it must be http or https".format($scheme.lowercase().format_json(no_indent: true).string())
    $host.trim_suffix(":" + $port) == "" => "has no host"
    $port != "" && ($port.length() > 5 || $port.number() < 1 || $port.number() > 65535) => "has the port %v; it must be between 1 and 65535".format($port.slice(0, 20))
    $authority.contains("@") => "must not contain a user or password; use username and password"
    $rest.re_match("(?s)[?]..*|#") => "must not have a query or fragment"
    _ => null
  }
}
`

var addressLint = addressMap + `
let problem = if this.type() == "string" && this.trim() != "" && !this.contains("${") { this.trim().apply("address") } else { null }
root = if $problem != null { [ "url " + $problem ] }`

// addressesLint is for a list of addresses, of which each may hold several with commas between them. It is run over the list and over each entry.
func addressesLint(field string) string {
	return addressMap + fmt.Sprintf(`
root = if this.type() == "array" {
  this.enumerated().map_each(entry -> entry.value.string().split(",").map_each(one -> one.trim()).filter(one -> one != "" && !entry.value.string().contains("${")).map_each(one -> one.apply("address")).
    filter(problem -> problem != null).map_each(problem -> "%s[%%v] %%v".format(entry.index, problem))).flatten()
} else { [] }`, field)
}

// listLint is for a list whose entries must say something. It is run over the list and over each entry.
func listLint(field string) string {
	return fmt.Sprintf(`
root = if this.type() == "array" {
  this.enumerated().filter(entry -> entry.value.string().trim() == "").map_each(entry -> "%s[%%v] is empty".format(entry.index))
} else { [] }`, field)
}

// redirectMapLint is run over the map and over each value. An empty text may be a variable of the environment that is not set.
const redirectMapLint = `
map authority {
  let port = this.re_find_all(":[0-9]+$").index(0).catch("").trim_prefix(":")
  let host = if $port == "" { this } else { this.trim_suffix(":" + $port) }
  root = match {
    this.re_match("[\\x00-\\x20\\x7f/?#@%\\\\^` + "`" + `{|}]") => "must be host:port, or a host alone"
    this.has_prefix("[") && !this.re_match("^\\[[0-9a-fA-F.]*:[0-9a-fA-F.:]*:[0-9a-fA-F.:]*\\](:[0-9]+)?$") => "must be host:port, or a host alone"
    !this.has_prefix("[") && ($host.contains(":") || $host.contains("[")) => "must be host:port, or a host alone"
    $host == "" => "has no host"
    $port != "" && ($port.length() > 5 || $port.number() < 1 || $port.number() > 65535) => "has the port %v; it must be between 1 and 65535".format($port.slice(0, 20))
    _ => null
  }
}

map entry {
  let from_problem = this.key.apply("authority")
  let to_problem = this.value.apply("authority")
  let from = this.key.format_json(no_indent: true).string()
  let to = this.value.format_json(no_indent: true).string()
  let from_port = this.key.re_match(":[0-9]+$")
  let to_port = this.value.re_match(":[0-9]+$")
  root = match {
    $from_problem != null => "has the entry %v, which %v".format($from, $from_problem)
    $to_problem != null => "sends %v to %v, which %v".format($from, $to, $to_problem)
    $from_port && !$to_port => "sends %v to %v, which has no port".format($from, $to)
    !$from_port && $to_port => "sends every port of %v to one, %v: name the port on both sides or on none".format($from, $to)
    _ => null
  }
}

root = if this.type() == "object" {
  this.key_values().filter(e -> e.value.type() == "string" && !e.key.contains("${") && !e.value.contains("${") && e.key != "" && e.value != "").
    map_each(e -> e.apply("entry")).filter(problem -> problem != null).map_each(problem -> "redirect_map " + problem)
} else { [] }`

// nameLint is for a database or table. A name with an expression in it is looked at when there is a message.
func nameLint(field string) string {
	return fmt.Sprintf(`
let quoted = this.string().slice(0, 100).format_json(no_indent: true).string()
root = match {
  this.type() != "string" || this.contains("${") => []
  this == "" || this == "null" => [ "%[1]s is %%v; it must be a name, or an expression that gives one".format($quoted) ]
  this.bytes().length() > 1024 => [ "%[1]s is %%v bytes long, and none may be longer than 1024; it begins with %%v".format(this.bytes().length(), this.slice(0, 50).format_json(no_indent: true).string()) ]
  this == "." || this.contains("..") => [ "%[1]s is %%v, which no path can carry".format($quoted) ]
  this.re_match("[\\x00-\\x1f\\x7f]") => [ "%[1]s is %%v, which has a control character in it".format($quoted) ]
  this.re_match("[/\\\\?#%%]") => [ "%[1]s is %%v; no name may have one of / \\ ? # %%%% in it".format($quoted) ]
  _ => []
}`, field)
}

const usernameLint = `root = if this.string().contains(":") && !this.string().contains("${") { [ "username has a colon in it, which basic auth cannot carry" ] }`

// headersLint is run over the map and over each value.
var headersLint = fmt.Sprintf(`
let reserved = %s
root = if this.type() == "object" {
  this.key_values().map_each(header -> match {
    $reserved.get(header.key.trim().lowercase()) != null => "headers contains %%v, which is reserved: %%v".format(header.key.format_json(no_indent: true).string(), $reserved.get(header.key.trim().lowercase()))
    !header.key.re_match("^[!#$%%&'*+.^_|~0-9A-Za-z`+"`"+`-]+$") => "headers contains the name %%v, which is no header name".format(header.key.format_json(no_indent: true).string())
    !header.value.string().contains("${") && header.value.string().re_match("[\\x00-\\x08\\x0a-\\x1f\\x7f]") => "headers contains a line break or another control character in the value of %%v".format(header.key.format_json(no_indent: true).string())
    _ => deleted()
  })
} else { [] }`, reservedHeaders())

// reservedHeaders is the list as Bloblang reads it.
func reservedHeaders() string {
	text, err := json.Marshal(streamload.ReservedHeaders())
	if err != nil {
		panic(err) // texts can always be written
	}
	return string(text)
}
