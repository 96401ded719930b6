package cases

// skipped holds the cases that are not run, by id, with what they wait for. A
// line goes as soon as the output has the field; a test sees to it that none
// stays behind.
var skipped = map[string]string{}

// mandatory are the kinds of which no case may be skipped.
var mandatory = []string{
	"response-parse", "status-word", "publish-timeout", "label-exists", "redirect", "auth", "http-error", "proxy",
	"expect-continue", "connection", "load-state", "label-format", "headers", "json", "throttle", "lifecycle",
}
