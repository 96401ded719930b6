package preflight

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// certificate signs itself, for 127.0.0.1, and ends after some time.
func certificate(t *testing.T, valid time.Duration) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(valid),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestTLS(t *testing.T) {
	t.Parallel()
	long, longPool := certificate(t, 365*24*time.Hour)
	short, shortPool := certificate(t, 24*time.Hour)
	for _, c := range []struct {
		name    string
		cert    *tls.Certificate
		pool    *x509.CertPool
		address func(fe string) string
		allow   bool
		want    []string
	}{
		{name: "trusted, and BEs without TLS are allowed", cert: &long, pool: longPool, allow: true, want: []string{"ok tls: the certificate of FE 127.", "ok way: "}},
		{name: "BEs without TLS are refused", cert: &long, pool: longPool, want: []string{"failed way: a load would be refused: ...set allow_insecure_redirect: true"}},
		{name: "ends soon", cert: &short, pool: shortPool, allow: true, want: []string{"warning tls: a certificate of FE 127...| renew it"}},
		{name: "not trusted", cert: &long, pool: shortPool, want: []string{"failed fe: FE 127...unknown authority...| name the authority of its certificate in tls.root_cas_file"}},
		{
			name: "https where there is no TLS", address: func(fe string) string { return strings.Replace(fe, "http://", "https://", 1) },
			want: []string{"failed fe: ...| this port does not speak TLS: write http:// in fe_urls"},
		},
		{
			name: "http where there is TLS", cert: &long, address: func(fe string) string { return strings.Replace(fe, "https://", "http://", 1) },
			want: []string{"failed fe: ...cannot be used: "},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			options := emulator.Options{FEAddrs: []string{"127.0.0.1:0"}, BEAddrs: []string{"127.0.0.1:0"}, Users: users, Tables: tables}
			if c.cert != nil {
				options.FETLS = &tls.Config{Certificates: []tls.Certificate{*c.cert}, MinVersion: tls.VersionTLS12}
			}
			e := emulator.New(t, options)
			fe := e.FEURL()
			if c.address != nil {
				fe = c.address(fe)
			}
			r := look(t, []string{fe}, func(_ *Subject, conf *streamload.Config) {
				conf.AllowInsecureRedirect = c.allow
				if c.pool != nil {
					conf.TLS = &tls.Config{RootCAs: c.pool, MinVersion: tls.VersionTLS12}
				}
			})
			for _, want := range c.want {
				requireFinding(t, r, want)
			}
		})
	}
}
