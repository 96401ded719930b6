package emulator

import (
	"hash/fnv"
	"net"
	"net/netip"
	"strings"
)

// endpoint is the address of a BE that a redirect names: the one it has in the
// cluster, or by the header redirect-policy (or Options.RedirectPolicy) its public or
// private endpoint. refusal is not empty when there is no such address.
func (x *exchange) endpoint(n *node) (host, refusal string) {
	prof, opt := x.e.profile, &x.e.opt
	public, private := item(opt.BEPublic, n.index), item(opt.BEPrivate, n.index)
	policy := strings.ToLower(x.r.Header.Get("redirect-policy"))
	if !prof.knowsPolicy(policy) {
		if policy = strings.ToLower(opt.RedirectPolicy); !prof.knowsPolicy(policy) {
			policy = ""
		}
	}
	if policy == "public-private" {
		var ok bool
		if policy, ok = byHost(x.r.Host); !ok {
			return "", "Invalid header host: " + x.r.Host
		}
	}
	switch {
	case policy == "" && !prof.ownEndpoints():
		return n.at(), ""
	case policy == "public" && public == "":
		return "", "public endpoint is null, please check be public endpoint config"
	case policy == "private" && private == "":
		return "", "private endpoint is null, please check be private endpoint config"
	case policy == "public", policy == "" && public != "" && sameHost(x.r.Host, public):
		return public, ""
	case policy == "private", policy == "" && private != "":
		return private, ""
	}
	return n.at(), ""
}

func item(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// byHost decides between public and private by the Host that the client used: a
// site-local address is private, any other address is public, and a name is public
// when it says so.
func byHost(host string) (policy string, ok bool) {
	name := hostName(host)
	if name == "" {
		return "", false
	}
	ip, err := netip.ParseAddr(name)
	switch {
	case err == nil && ip.IsPrivate():
		return "private", true
	case err == nil, strings.Contains(name, "public"):
		return "public", true
	}
	return "private", true
}

func hostName(hostport string) string {
	if name, _, err := net.SplitHostPort(hostport); err == nil {
		return name
	}
	return strings.Trim(hostport, "[]")
}

func sameHost(a, b string) bool { return hostName(a) == hostName(b) }

// pickGroupBE takes the BE of a table, so that its group commits meet there.
func (e *Emulator) pickGroupBE(db, table string) *node {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(db + "." + table))
	for i := range e.bes {
		if n := e.bes[(int(sum.Sum32()%uint32(len(e.bes)))+i)%len(e.bes)]; n.isUp() { //nolint:gosec // few BEs
			return n
		}
	}
	return nil
}

// userinfo writes an account into a Location as java.net.URI does: what it takes for
// legal stays, a colon in the password too, and a % is always quoted.
func userinfo(user, password string) string {
	const legal = "_-!.~'()*,;:$&+="
	var b strings.Builder
	for _, c := range []byte(user + ":" + password) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(legal, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		const hex = "0123456789ABCDEF"
		b.Write([]byte{'%', hex[c>>4], hex[c&15]})
	}
	return b.String()
}
