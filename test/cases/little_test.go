package cases

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// flaw is something that the little output below does wrong on purpose.
type flaw string

const (
	sound      flaw = ""
	idle       flaw = "acknowledges without sending anything"
	gloomy     flaw = "fails everything without sending anything"
	gullible   flaw = "takes every answer for a success"
	hasty      flaw = "sends again under a new label when the outcome is not known"
	leaky      flaw = "sends the body to the frontend"
	talkative  flaw = "logs the password"
	indiscreet flaw = "puts the password into its error"
	wasteful   flaw = "drops a row"
	doubling   flaw = "loads every batch twice"
	anonymous  flaw = "sends no label and no credentials"
	unfair     flaw = "fails the whole batch for one bad row"
	careless   flaw = "reports an error over a batch of its own"
	deaf       flaw = "does not heed the end of its context"
	inventive  flaw = "adds a row"
)

// littleOutput is a client that knows just enough to get some of the cases
// right. It shows that the suite lets a good client pass and a bad one fail.
type littleOutput struct {
	flaw     flaw
	log      *service.Logger
	fes      []string
	prefix   string
	username string
	password string
}

// littleEnvironment has the little output under the given name.
func littleEnvironment(name string, f flaw) (*service.Environment, error) {
	spec := service.NewConfigSpec()
	for _, field := range []string{
		"database", "table", "max_retries", "timeout", "backoff", "label_poll", "format",
		"read_json_by_line", "headers", "columns", "where", "tls",
	} {
		spec = spec.Field(service.NewAnyField(field).Optional())
	}
	spec = spec.Field(service.NewURLListField("fe_urls")).
		Field(service.NewStringField("label_prefix").Default("little")).
		Field(service.NewStringField("username")).Field(service.NewStringField("password")).
		Field(service.NewOutputMaxInFlightField())

	env := service.NewEnvironment()
	return env, env.RegisterBatchOutput(name, spec,
		func(conf *service.ParsedConfig, mgr *service.Resources) (service.BatchOutput, service.BatchPolicy, int, error) {
			o := &littleOutput{flaw: f, log: mgr.Logger()}
			inFlight, err := conf.FieldMaxInFlight()
			if err != nil {
				return nil, service.BatchPolicy{}, 0, err
			}
			urls, err := conf.FieldURLList("fe_urls")
			if err != nil {
				return nil, service.BatchPolicy{}, 0, err
			}
			for _, u := range urls {
				o.fes = append(o.fes, u.Host)
			}
			for name, to := range map[string]*string{"label_prefix": &o.prefix, "username": &o.username, "password": &o.password} {
				if *to, err = conf.FieldString(name); err != nil {
					return nil, service.BatchPolicy{}, 0, err
				}
			}
			if strings.ContainsAny(o.prefix, "\r\n") {
				return nil, service.BatchPolicy{}, 0, errors.New("label_prefix holds a line end")
			}
			o.prefix = strings.ReplaceAll(o.prefix, ".", "_")
			return o, service.BatchPolicy{}, inFlight, nil
		})
}

func (*littleOutput) Connect(context.Context) error { return nil }
func (*littleOutput) Close(context.Context) error   { return nil }

func (o *littleOutput) WriteBatch(ctx context.Context, batch service.MessageBatch) error {
	switch o.flaw {
	case idle:
		return nil
	case gloomy:
		return errors.New("no")
	case deaf:
		ctx = context.WithoutCancel(ctx)
	}
	var lines [][]byte
	failed := service.NewBatchError(batch, errors.New("some rows are bad"))
	bad := 0
	for i, m := range batch {
		row, err := m.AsBytes()
		if err != nil {
			return err
		}
		if !json.Valid(row) {
			bad++
			failed = failed.Failed(i, errors.New("not valid JSON"))
			continue
		}
		lines = append(lines, row)
	}
	if o.flaw == wasteful {
		lines = lines[1:]
	}
	if o.flaw == inventive {
		lines = append(lines, []byte(`{"id":"invented"}`))
	}
	if err := o.deliver(ctx, bytes.Join(lines, []byte("\n"))); err != nil {
		return err
	}
	switch {
	case bad == 0:
		return nil
	case o.flaw == unfair:
		return errors.New("not valid JSON")
	case o.flaw == careless:
		return service.NewBatchError(batch.Copy()[:1], errors.New("not valid JSON"))
	}
	return failed
}

// deliver sends a body until its fate is known.
func (o *littleOutput) deliver(ctx context.Context, body []byte) error {
	label := fmt.Sprintf("%s_%s", o.prefix, rand.Text())
	if o.flaw == talkative {
		o.log.Debugf("connecting as %s:%s", o.username, o.password)
	}
	if o.flaw == doubling {
		if _, err := o.send(ctx, label+"_again", body); err != nil {
			return err
		}
	}
	var last error
	for range 4 {
		answer, err := o.send(ctx, label, body)
		switch {
		case err == nil && (o.flaw == gullible || strings.Contains(answer, `"Status":"Success"`) || strings.Contains(answer, `"Publish Timeout"`)):
			return nil
		case err == nil && strings.Contains(answer, "FAILED"):
			last = fmt.Errorf("refused: %s", answer)
			if o.flaw == indiscreet {
				last = fmt.Errorf("%w (as %s:%s)", last, o.username, o.password)
			}
			continue
		}
		if o.flaw == hasty {
			label += "x"
			continue
		}
		committed, err := o.committed(ctx, label)
		if committed || err != nil {
			return err
		}
		last = fmt.Errorf("label %s: the outcome is not known", label)
	}
	return last
}

// committed asks for the state of a label until it is final or unknown.
func (o *littleOutput) committed(ctx context.Context, label string) (bool, error) {
	for {
		got, err := o.exchange(ctx, o.fes[0], http.MethodGet, "/api/db/get_load_state?label="+label, "", nil)
		if err != nil {
			return false, fmt.Errorf("label %s: %w", label, err)
		}
		switch {
		case strings.Contains(got.text, "VISIBLE"), strings.Contains(got.text, "COMMITTED"):
			return true, nil
		case !strings.Contains(got.text, "PREPARE"):
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("label %s: %w", label, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// send follows the redirects of one load.
func (o *littleOutput) send(ctx context.Context, label string, body []byte) (string, error) {
	host, target := o.fes[0], "/api/db/t1/_stream_load"
	for range 6 {
		got, err := o.exchange(ctx, host, http.MethodPut, target, label, body)
		if err != nil || got.status/100 != 3 {
			return got.text, err
		}
		to, err := url.Parse(got.location)
		if err != nil {
			return "", err
		}
		if to.Host != "" {
			host = to.Host
		}
		target = to.RequestURI()
	}
	return "", errors.New("too many redirects")
}

// reply is what the little output takes from an answer.
type reply struct {
	status         int
	location, text string
}

// exchange sends one request. The body goes out when the server asks for it.
func (o *littleOutput) exchange(ctx context.Context, host, method, target, label string, body []byte) (reply, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", host)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", method, target, host)
	if method == http.MethodPut {
		head += fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d\r\n", len(body))
	}
	if o.flaw != anonymous {
		head += "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(o.username+":"+o.password)) + "\r\n"
		if label != "" {
			head += "label: " + label + "\r\n"
		}
	}
	head += "\r\n"
	if o.flaw == leaky {
		head += string(body)
	}
	if _, err := conn.Write([]byte(head)); err != nil {
		return reply{}, err
	}
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err == nil && resp.StatusCode == http.StatusContinue {
		if o.flaw != leaky {
			if _, err := conn.Write(body); err != nil {
				return reply{}, err
			}
		}
		resp, err = http.ReadResponse(in, nil)
	}
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, location: resp.Header.Get("Location"), text: string(text)}, err
}
