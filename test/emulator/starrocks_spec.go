package emulator

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dorisload/benthos-doris/test/emulator/internal/codec"
)

// starrocksFormats are the words of the header format: the codec of a CSV body
// stands there too (be/src/http/action/stream_load.cpp, parse_format).
var starrocksFormats = map[string]codec.Kind{
	"csv": codec.None, "json": codec.None,
	"gzip": codec.Gzip, "bzip2": codec.Bzip2, "lz4": codec.LZ4Frame, "deflate": codec.Deflate, "zstd": codec.Zstd,
}

// starrocksCompressions are the words of the headers compression and
// Content-Encoding, of which only JSON loads make anything; None marks those
// that the emulator does not do.
var starrocksCompressions = map[string]codec.Kind{
	"gzip": codec.Gzip, "bzip2": codec.Bzip2, "lz4_frame": codec.LZ4Frame, "zstd": codec.Zstd, "deflate": codec.Deflate,
	"no_compression": codec.None, "lz4": codec.None, "snappy": codec.None, "zlib": codec.None,
}

// starrocksSpec checks the header of a load in the order of the BE.
func (x *exchange) starrocksSpec() (*loadSpec, error) {
	h := x.e.profile.heard(x.r.Header)
	s := &loadSpec{label: h.Get("label"), h: h, format: "csv", timeout: x.e.opt.DefaultTimeout}
	if s.label == "" {
		s.label = uuid()
	}
	var ok bool
	if s.user, s.password, ok = beAuth(h.Get("Authorization")); !ok {
		return s, &beError{"INTERNAL_ERROR", "no valid Basic authorization"}
	}
	if err := s.mergeCommit(x.e.profile); err != nil {
		return s, err
	}
	if err := s.starrocksFormat(x.r.ContentLength, &x.e.opt); err != nil {
		return s, err
	}
	if text := h.Get("timeout"); text != "" {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 0 {
			return s, &beError{"INVALID_ARGUMENT", "Invalid timeout format"}
		}
		s.timeout = time.Duration(n) * time.Second
	}
	return s, nil
}

// mergeCommit reads the headers of a load that is merged with others. The label
// of such a load is a request id, nothing more.
func (s *loadSpec) mergeCommit(p *profile) error {
	if !p.mergeCommit() {
		return nil
	}
	switch text := s.h.Get("enable_merge_commit"); {
	case strings.EqualFold(text, "true"):
		s.group = syncMode
		if s.flag("merge_commit_async") {
			s.group = asyncMode
		}
		s.requestID = s.label
		n, _ := strconv.Atoi(s.h.Get("merge_commit_interval_ms")) // FEs have checked it
		s.interval = time.Duration(n) * time.Millisecond
	case text != "" && !strings.EqualFold(text, "false"):
		return &beError{"INVALID_ARGUMENT", "Invalid parameter enable_merge_commit. The value must be bool type, but is " + text}
	}
	return nil
}

// starrocksFormat reads the format and checks the size. The size of a body of
// chunks is not known here and not checked.
func (s *loadSpec) starrocksFormat(size int64, opt *Options) error {
	if size > opt.MaxBodyBytes {
		return &beError{"INTERNAL_ERROR", fmt.Sprintf("body size %d exceed limit: %d, . You can increase the limit by setting streaming_load_max_mb in be.conf.", size, opt.MaxBodyBytes)}
	}
	given := s.h.Get("format")
	if given == "" {
		return nil
	}
	word := strings.ToLower(given)
	kind, ok := starrocksFormats[word]
	if !ok {
		return &beError{"INTERNAL_ERROR", "unknown data format, format=" + given}
	}
	if s.codec = kind; word != "json" {
		return nil
	}
	s.format = "json"
	if size > opt.MaxJSONBytes && !s.flag("ignore_json_size") {
		return &beError{"INTERNAL_ERROR", fmt.Sprintf("The size of this batch exceed the max size [%d]  of json type data  data [ %d ]. Set ignore_json_size to skip the check, although it may lead huge memory consuming.", opt.MaxJSONBytes, size)}
	}
	return nil
}

// payloadCompression reads the headers compression and Content-Encoding.
func (s *loadSpec) payloadCompression(p *profile) error {
	if !p.jsonCompression() {
		return nil
	}
	word := s.h.Get("compression")
	if encoding := s.h.Get("Content-Encoding"); encoding != "" {
		if word != "" {
			return &beError{"INVALID_ARGUMENT", "Only one of http header content-encoding and compression can be set"}
		}
		word = encoding
	}
	if word == "" {
		return nil
	}
	kind, ok := starrocksCompressions[strings.ToLower(word)]
	switch {
	case !ok:
		return analysis("Unsupported compression type: %s", word)
	case s.format != "json", strings.EqualFold(word, "no_compression"):
	case kind == codec.None:
		return &beError{"NOT_IMPLEMENTED_ERROR", "the compression " + word + " is not supported by the emulator"}
	default:
		s.codec = kind
	}
	return nil
}
