package emulator

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/dorisload/benthos-doris/test/emulator/internal/codec"
)

// loadSpec is what the header of a load asks for, as far as a BE looks at it
// before the transaction is begun.
type loadSpec struct {
	label, comment string
	user, password string
	format         string // csv or json
	withHeader     int    // lines of names (and types) at the top of a CSV
	codec          codec.Kind
	twoPhase       bool
	group          string // sync_mode or async_mode; empty: none
	byTable        bool   // the table may make a group commit of it
	timeout        time.Duration
	// Of StarRocks: the load is a part of a transaction that was begun before; the
	// id and the interval of a merged load.
	inTxn     bool
	requestID string
	interval  time.Duration
	h         http.Header
}

const (
	offMode   = "off_mode"
	syncMode  = "sync_mode"
	asyncMode = "async_mode"
)

// groupMode reads the header group_commit; empty is none.
func groupMode(value string) (string, error) {
	switch mode := strings.ToLower(value); mode {
	case "", offMode, syncMode, asyncMode:
		return mode, nil
	}
	return "", &beError{"INVALID_ARGUMENT", "group_commit can only be [async_mode, sync_mode, off_mode]"}
}

func (s *loadSpec) grouped() bool { return s.group != "" }

// flag reads a boolean header: everything but "true" is false.
func (s *loadSpec) flag(name string) bool { return strings.EqualFold(s.h.Get(name), "true") }

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

func uuid() string {
	s := randomHex(16)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// readSpec checks the header in the order of the BE. The spec is usable for an
// answer also when there is an error.
func (x *exchange) readSpec() (*loadSpec, error) {
	prof := x.e.profile
	h := prof.heard(x.r.Header)
	if x.e.profile.starrocks() {
		return x.starrocksSpec()
	}
	s := &loadSpec{label: h.Get("label"), comment: h.Get("comment"), twoPhase: h.Get("two_phase_commit") == "true", h: h, format: "csv"}
	groupErr := s.groupCommit(x.r.ContentLength, prof)
	if s.label == "" {
		s.label = uuid()
	}
	if groupErr != nil {
		return s, groupErr
	}
	var ok bool
	if s.user, s.password, ok = beAuth(h.Get("Authorization")); !ok {
		return s, &beError{"NOT_AUTHORIZED", "no valid Basic authorization"}
	}
	if err := s.readFormat(prof); err != nil {
		return s, err
	}
	if err := s.checkSize(x.r, &x.e.opt, prof); err != nil {
		return s, err
	}
	s.timeout = x.e.opt.DefaultTimeout
	if text := h.Get("timeout"); text != "" {
		n, ok := leadingInt(text)
		if !ok {
			return s, &beError{"INVALID_ARGUMENT", "Invalid timeout format"}
		}
		// Beyond the upper bound any value is as bad as another.
		s.timeout = time.Duration(max(min(n, 1<<31), -1<<31)) * time.Second
	}
	return s, nil
}

// groupCommit decides whether the load is merged with others. The label cannot
// be kept then.
func (s *loadSpec) groupCommit(length int64, p *profile) error {
	mode, err := groupMode(s.h.Get("group_commit"))
	update := strings.ToUpper(s.h.Get("unique_key_update_mode"))
	switch {
	case err != nil:
		return err
	case mode == offMode:
		return nil
	case mode == "" && length < 0 && p.tableGroupCommit():
		s.label = "" // also without group commit
		return nil
	case mode == "" && !p.tableGroupCommit(), length == 0, s.twoPhase, s.flag("partial_columns"),
		s.h.Get("partitions") != "", s.h.Get("temporary_partitions") != "", update != "" && update != "UPSERT":
		return nil
	case mode == "":
		s.byTable = true
		return nil
	case length < 0: // chunked: the label is dropped without a word
		s.label = ""
	case s.label != "":
		return &beError{"INVALID_ARGUMENT", "label and group_commit can't be set at the same time"}
	}
	s.group = mode
	return nil
}

func (s *loadSpec) readFormat(p *profile) error {
	given := s.h.Get("format")
	unknown := &beError{"INTERNAL_ERROR", "unknown data format, format=" + given}
	switch format := strings.ToLower(given); format {
	case "", "csv":
	case "csv_with_names":
		s.withHeader = 1
	case "csv_with_names_and_types":
		s.withHeader = 2
	case "json":
		s.format = "json"
	case "parquet", "orc", "arrow", "hive_text", "wal":
		if p.laterFormat(format) {
			return unknown
		}
		return &beError{"NOT_IMPLEMENTED_ERROR", "the format " + format + " is not supported by the emulator"}
	default:
		return unknown
	}
	return s.readCompression(p, unknown)
}

func (s *loadSpec) checkSize(r *http.Request, opt *Options, p *profile) error {
	size := r.ContentLength
	if size == 0 && p.framingCheck() && r.Header.Get("Content-Length") == "" {
		return &beError{"INVALID_ARGUMENT", "content_length is empty and transfer-encoding!=chunked, please set content_length or transfer-encoding=chunked"}
	}
	tooLarge := s.format == "json" && size > opt.MaxJSONBytes && !s.flag("read_json_by_line")
	switch {
	case p.namesLimits():
	case tooLarge:
		return &beError{"INTERNAL_ERROR", fmt.Sprintf("The size of this batch exceed the max size [%d]  of json type data  data [ %d ]. Split the file, or use 'read_json_by_line'", opt.MaxJSONBytes, size)}
	case size > opt.MaxBodyBytes:
		return &beError{"INTERNAL_ERROR", fmt.Sprintf("body exceed max size: %d, data: %d", opt.MaxBodyBytes, size)}
	}
	const hint = ". increase it if you are sure this load is reasonable"
	if tooLarge {
		return &beError{"E-217", fmt.Sprintf("json body size %d exceed BE's conf `streaming_load_json_max_mb` %d%s", size, opt.MaxJSONBytes, hint)}
	}
	if size > opt.MaxBodyBytes {
		return &beError{"E-217", fmt.Sprintf("body size %d exceed BE's conf `streaming_load_max_mb` %d%s", size, opt.MaxBodyBytes, hint)}
	}
	return nil
}

// beAuth reads the account as a BE does: the word Basic exactly, and no check.
func beAuth(header string) (user, password string, ok bool) {
	if !strings.HasPrefix(header, "Basic ") {
		return "", "", false
	}
	return basic(header)
}

// leadingInt reads the digits that text begins with, as the C++ library does.
func leadingInt(text string) (int64, bool) {
	text = strings.TrimSpace(text)
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || end == 0 && (text[0] == '-' || text[0] == '+')) {
		end++
	}
	n, err := strconv.ParseInt(text[:end], 10, 32)
	return n, err == nil
}
