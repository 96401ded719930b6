package preflight

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dorisload/benthos-doris/streamload"
)

const (
	// maxSkew is how far a clock may be off without a word: times in the log of a server are then hard to compare with ours.
	maxSkew = 10 * time.Second
	// certificateSoon is when the end of a certificate is worth a warning.
	certificateSoon = 14 * 24 * time.Hour
)

func (r *run) frontends(ctx context.Context) {
	for i, fe := range r.Client.InspectFEs(ctx) {
		r.frontend(i, fe)
	}
}

func (r *run) frontend(i int, fe streamload.FEInfo) {
	_, port, _ := net.SplitHostPort(fe.Address)
	took := max(fe.Took.Round(time.Millisecond), time.Millisecond)
	switch {
	case fe.Err != nil:
		r.add("fe", Failed, fmt.Sprintf("FE %s cannot be used: %v", fe.Address, fe.Err), r.portAdvice(fe, port, lower(fe.Note)))
		return
	case fe.HTTPStatus >= 500:
		r.add("fe", Failed, strings.TrimSpace(fmt.Sprintf("FE %s cannot be used: HTTP %d %s", fe.Address, fe.HTTPStatus, fe.Message)), "look at the FE, or at the proxy before it")
		return
	}
	r.up = append(r.up, i)
	switch {
	case strings.HasSuffix(fe.RedirectedTo, "://"+fe.Address):
		r.add("fe", Warning, fmt.Sprintf("FE %s sends everybody back to itself", fe.Address), "look at the FE, or at the proxy before it")
	case fe.RedirectedTo != "":
		r.add("fe", Warning, fmt.Sprintf("FE %s sends everybody to %s", fe.Address, fe.RedirectedTo), "name that address in fe_urls")
	case !fe.IsFE:
		r.add("fe", Warning, fmt.Sprintf("%s answers, but not as an FE does: HTTP %d %s", fe.Address, fe.HTTPStatus, fe.Message),
			r.portAdvice(fe, port, "is it the HTTP port of an FE (8030), and does a proxy pass /api on?"))
	case !fe.Ready:
		r.add("fe", Warning, fmt.Sprintf("FE %s is not ready: %s", fe.Address, fe.Message), "wait until it has started")
	default:
		r.add("fe", OK, fmt.Sprintf("FE %s answers in %s", fe.Address, took), "")
	}
	r.tls(fe)
	r.clock(fe)
}

// portAdvice knows the ports of Doris that are taken for the FE's HTTP port.
func (*run) portAdvice(fe streamload.FEInfo, port, otherwise string) string {
	switch {
	case port == "9030" || port == "9010" || port == "9020":
		return "port " + port + " does not speak HTTP; the HTTP port of an FE is 8030 by default"
	case port == "8040" || port == "9060" || port == "8060":
		return "port " + port + " is one of a BE; the HTTP port of an FE is 8030 by default"
	case fe.Err != nil && strings.Contains(fe.Err.Error(), "unknown authority"):
		return "name the authority of its certificate in tls.root_cas_file"
	case fe.Err != nil && strings.Contains(fe.Err.Error(), "first record does not look like a TLS handshake"):
		return "this port does not speak TLS: write http:// in fe_urls"
	default:
		return otherwise
	}
}

func (r *run) tls(fe streamload.FEInfo) {
	host, _, err := net.SplitHostPort(fe.Address)
	if err != nil {
		host = fe.Address
	}
	left := time.Until(fe.CertificateEnds)
	switch {
	case !fe.CertificateEnds.IsZero() && left < certificateSoon:
		r.add("tls", Warning, fmt.Sprintf("a certificate of FE %s ends in %s, on %s", fe.Address, left.Round(time.Hour), fe.CertificateEnds.Format(time.DateOnly)), "renew it")
	case !fe.CertificateEnds.IsZero():
		r.add("tls", OK, fmt.Sprintf("the certificate of FE %s is trusted, until %s", fe.Address, fe.CertificateEnds.Format(time.DateOnly)), "")
	case !fe.Secure && r.conf.Password != "" && !isLoopback(host):
		r.add("tls", Note, fmt.Sprintf("password and rows travel to FE %s in clear text", fe.Address), "")
	}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (r *run) clock(fe streamload.FEInfo) {
	if !fe.HasSkew || fe.Skew.Abs() <= maxSkew {
		return
	}
	which := "ahead of"
	if fe.Skew < 0 {
		which = "behind"
	}
	r.add("clock", Warning, fmt.Sprintf("the clock of FE %s is %s %s ours", fe.Address, fe.Skew.Abs().Round(time.Second), which),
		"set the clocks of both by NTP; logs are hard to compare, and now() in columns or where is the server's")
}

// way asks each FE where it would send a load. It returns the addresses.
func (r *run) way(ctx context.Context, there bool) []string {
	if !r.known() {
		r.add("way", Skipped, "the LOAD privilege and the way to a BE cannot be looked at: the table depends on the messages", "")
		return nil
	}
	type said struct {
		to  string
		err error
	}
	answers := make([]said, len(r.up))
	var all sync.WaitGroup
	for k, i := range r.up {
		all.Go(func() { answers[k].to, answers[k].err = r.Client.AskWay(ctx, i, r.Database, r.Table) })
	}
	all.Wait()
	var ways []string
	told := map[string]bool{}
	for _, a := range answers {
		if a.err == nil {
			if !slices.Contains(ways, a.to) {
				ways = append(ways, a.to)
			}
			continue
		}
		status, text, advice := r.wayFinding(a.err, there)
		if !told[text] {
			told[text] = true
			r.add("way", status, text, advice)
		}
	}
	if len(ways) > 0 {
		r.add("way", OK, fmt.Sprintf("loads into %s are let through, to BE %s", r.name(), strings.Join(ways, ", ")), "")
	}
	return ways
}

func (r *run) wayFinding(err error, there bool) (status Status, text, advice string) {
	switch {
	case errors.Is(err, streamload.ErrDenied):
		return Failed, fmt.Sprintf("the user %q may not load into %s: %s", r.conf.Username, r.name(), reason(err)),
			r.grant("LOAD_PRIV", "INSERT")
	case errors.Is(err, streamload.ErrNoBackend):
		return Failed, fmt.Sprintf("no BE would take a load: %s", reason(err)), "SHOW BACKENDS says which are alive; the user's resource group may have none"
	case errors.Is(err, streamload.ErrNotThere) && there:
		return Failed, fmt.Sprintf("%s is not found: %s", r.name(), reason(err)), ""
	case errors.Is(err, streamload.ErrNoSuchCall), errors.Is(err, streamload.ErrNotThere):
		return Warning, fmt.Sprintf("it cannot be seen where loads go: %s", reason(err)), "name the HTTP ports of FEs in fe_urls"
	default:
		return Failed, fmt.Sprintf("a load would be refused: %s", reason(err)), ""
	}
}

// backends looks whether the BEs can be reached from here.
func (r *run) backends(ctx context.Context, ways []string) {
	list, err := r.Client.InspectBackends(ctx)
	named, alive := map[string]bool{}, 0
	for _, be := range list {
		named[be.Address] = true
		if be.Alive {
			alive++
		}
	}
	// With an address of their own for those outside, loads go elsewhere than to the addresses that the FEs list.
	elsewhere := slices.ContainsFunc(ways, func(to string) bool { return !named[to] })
	for _, be := range list {
		switch {
		case !be.Alive:
			r.add("be", Warning, fmt.Sprintf("BE %s is not alive, say the FEs", be.Address), "start it, or drop it from the cluster")
		case be.Err != nil && elsewhere:
			r.add("be", Note, fmt.Sprintf("BE %s cannot be reached from here, but loads are sent to another address", be.Address), "")
		case be.Err != nil:
			r.unreachable(be.Address, be.Err)
		default:
			r.add("be", OK, fmt.Sprintf("BE %s can be reached from here", be.Address), "")
		}
	}
	for _, to := range ways {
		if named[to] {
			continue
		}
		if reach := r.Client.ReachBackend(ctx, to); reach != nil {
			r.unreachable(to, reach)
		} else {
			r.add("be", OK, fmt.Sprintf("BE %s can be reached from here", to), "")
		}
	}
	switch {
	case err != nil && len(ways) == 0:
		r.add("be", Skipped, fmt.Sprintf("the BEs cannot be looked at: %s", reason(err)), "")
	case err == nil && alive == 0:
		r.add("be", Failed, "the FEs know no BE that is alive", "SHOW BACKENDS says why")
	}
}

func (r *run) unreachable(address string, err error) {
	r.add("be", Failed, fmt.Sprintf("BE %s cannot be reached from here: %s", address, reason(err)),
		"rows go straight to the BEs, at the addresses that SHOW BACKENDS has: open the way to them, or run where they can be reached")
}
