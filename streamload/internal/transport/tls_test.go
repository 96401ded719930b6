package transport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// authority signs certificates of servers.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tests"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return authority{cert, key, pool}
}

// serve is a server that speaks TLS with a certificate for a name or an address.
func (a authority) serve(t *testing.T, name string, script func(*peer)) *wire {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour)}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	require.NoError(t, err)
	return serveOn(t, tls.NewListener(listen(t, "tcp4", "127.0.0.1:0"), &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12,
	}), script)
}

func (a authority) trusted(c *Config) {
	c.TLS = &tls.Config{RootCAs: a.pool, MinVersion: tls.VersionTLS12}
}

// sendsTo is the redirect of an FE to an address with a scheme.
func sendsTo(url string) func(*peer) {
	return func(p *peer) {
		for p.head() != nil {
			p.say("HTTP/1.1 307 T\r\nLocation: %s/api/db/t/_stream_load\r\nContent-Length: 0\r\n\r\n", url)
		}
		p.rest()
	}
}

func stores(p *peer) {
	for r := p.head(); r != nil; r = p.head() {
		p.say("HTTP/1.1 100 Continue\r\n\r\n")
		p.body(r)
		p.sayJSON(200, successJSON)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	be := ca.serve(t, "127.0.0.1", stores)
	fe := ca.serve(t, "127.0.0.1", sendsTo("https://root:hunter22@"+be.addr))
	tr := client(t, ca.trusted)
	for range 3 {
		a := load(t, tr, "https://"+fe.addr, body4MB)
		require.NoError(t, a.Err)
		require.Equal(t, answer.Success, a.Load.Word)
		require.True(t, a.WholeBody)
		require.True(t, a.Secure)
	}
	require.EqualValues(t, 1, be.conns.Load(), "the connection to the BE is used again")
	require.Zero(t, fe.strayBytes(t), "body bytes at the FE")
}

// The body is withheld inside of TLS too, also from a BE that refuses and keeps the connection.
func TestTLSWithholds(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	be := ca.serve(t, "127.0.0.1", func(p *peer) {
		if p.head() != nil {
			p.sayJSON(200, failJSON)
			p.rest()
		}
	})
	fe := ca.serve(t, "127.0.0.1", sendsTo("https://"+be.addr))
	tr := client(t, ca.trusted, func(c *Config) { c.ContinueWait = 10 * time.Second })
	for range 10 {
		a := load(t, tr, "https://"+fe.addr, body20MB)
		require.NoError(t, a.Err)
		require.Equal(t, answer.Failure, a.Load.Word)
		require.Equal(t, decide.NotSent, a.Sent)
	}
	require.Zero(t, fe.strayBytes(t)+be.strayBytes(t))
}

func TestTLSThatFails(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	good := ca.serve(t, "127.0.0.1", stores)
	named := ca.serve(t, "doris.example.com", stores)
	plain := serve(t, stores)
	silent := serve(t, func(p *peer) { <-p.quit })
	trusted := ca.trusted
	for name, test := range map[string]struct {
		fe      string
		set     func(*Config)
		trouble decide.Trouble
		want    string
	}{
		"a certificate that is not trusted": {"https://" + good.addr, func(*Config) {}, decide.TLSFailed, "certificate"},
		"a certificate of another name":     {"https://" + named.addr, trusted, decide.TLSFailed, "certificate"},
		"https to a port that speaks http":  {"https://" + plain.addr, trusted, decide.TLSFailed, "TLS handshake"},
		"http to a port that speaks https":  {"http://" + good.addr, trusted, decide.ConnectionLost, good.addr},
		"a port that says nothing": {"https://" + silent.addr, func(c *Config) {
			trusted(c)
			c.ConnectTimeout = 100 * time.Millisecond
		}, decide.TLSFailed, "TLS handshake"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := load(t, client(t, test.set), test.fe, rows(smallBody))
			require.ErrorContains(t, a.Err, test.want)
			require.Equal(t, test.trouble, a.Trouble, "%v", a.Err)
			require.Equal(t, decide.NotSent, a.Sent)
			require.False(t, a.Stale)
		})
	}
	t.Run("the cause can be found", func(t *testing.T) {
		t.Parallel()
		var name x509.HostnameError
		require.ErrorAs(t, load(t, client(t, trusted), "https://"+named.addr, rows(smallBody)).Err, &name)
	})
	t.Run("its server name as configured", func(t *testing.T) {
		t.Parallel()
		tr := client(t, trusted, func(c *Config) { c.TLS.ServerName = "doris.example.com" })
		require.NoError(t, load(t, tr, "https://"+named.addr, rows(smallBody)).Err)
	})
	t.Run("not verified, if that is what is wanted", func(t *testing.T) {
		t.Parallel()
		tr := client(t, func(c *Config) { c.TLS = &tls.Config{InsecureSkipVerify: true} })
		require.NoError(t, load(t, tr, "https://"+named.addr, rows(smallBody)).Err)
	})
}

// Neither rows nor password go from https to http, unless it is allowed.
func TestTLSRedirectToPlain(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	be := serve(t, stores)
	fe := ca.serve(t, "127.0.0.1", sendsTo("http://root:hunter22@"+be.addr))
	a := load(t, client(t, ca.trusted), "https://"+fe.addr, rows(smallBody))
	require.ErrorContains(t, a.Err, "allow_insecure_redirect")
	require.Equal(t, decide.BadRedirect, a.Trouble)
	require.Equal(t, decide.NotSent, a.Sent)
	require.Zero(t, be.conns.Load())

	a = load(t, client(t, ca.trusted, func(c *Config) { c.AllowInsecureRedirect = true }), "https://"+fe.addr, rows(smallBody))
	require.NoError(t, a.Err)
	require.Equal(t, answer.Success, a.Load.Word)
	require.False(t, a.Secure)
	require.Len(t, be.seen(), 1)
}
