package output

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

const secret = "pa$$:w@rd/€"

// Everything goes wrong, and servers repeat what they were sent.
func TestSecretsShowNowhere(t *testing.T) {
	t.Parallel()
	basic := base64.StdEncoding.EncodeToString([]byte("loader:" + secret))
	s := newServer(t, func(s *server) {
		s.answer = func(r loadRequest) string {
			return failed(r, "user loader with "+r.header.Get("Authorization")+" and "+secret+" may not",
				`,"ErrorURL":"`+strings.Replace(s.be.URL, "http://", "http://loader:pw@", 1)+`/api/_load_error_log?token=tok-123"`)
		}
		s.page = "seen: " + secret + "\n"
		s.state = func(string) string { return `{"msg":"` + basic + `","code":403,"data":"` + secret + `","count":0}` }
	})
	p := run(t, fields(s.fe.URL, target+"username: loader\npassword: '"+secret+"'\nheaders: { secret_header: hush-hush }"), batchOf(`{"id":1}`, `7`))
	b := build(t, fields(s.fe.URL, target+"username: loader\npassword: '"+secret+"'"))
	require.Equal(t, "hush-hush", s.seen()[0].header.Get("secret_header"))
	user, password, ok := basicAuth(s.seen()[0])
	require.True(t, ok)
	require.Equal(t, []string{"loader", secret}, []string{user, password})

	texts := append([]string{p.logs.String()}, p.results...)
	got, err := write(within(t), t, b, batchOf(`{"id":1}`))
	texts = append(texts, err.Error(), got[0], b.logs.String())
	require.NotEmpty(t, p.results[0])
	for _, text := range texts {
		for _, hidden := range []string{secret, basic, "loader:pw", "tok-123", "hush-hush", "pa$$"} {
			require.NotContains(t, text, hidden)
		}
	}
	require.Error(t, testConnection(t, b))
	require.NotContains(t, testConnection(t, b).Error(), secret)
}

func basicAuth(r loadRequest) (user, password string, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.header.Get("Authorization"), "Basic "))
	if err != nil {
		return "", "", false
	}
	return strings.Cut(string(raw), ":")
}

func TestSecretsAreScrubbedFromTheConfig(t *testing.T) {
	t.Parallel()
	builder := service.NewStreamBuilder()
	builder.DisableLinting() // a user in an address is refused, and must not show all the same
	require.NoError(t, builder.SetYAML(fmt.Sprintf(`
input:
  generate: { mapping: 'root = {}' }
output:
  doris_stream_load:
    fe_urls: [ "http://loader:%[1]s@fe:8030" ]
    url: "http://loader:%[1]s@fe:8030"
    database: d
    table: t
    password: %[1]s
    tls:
      client_certs: [ { cert: c, key: %[1]s, password: %[1]s } ]
`, "hunter2")))
	echo, err := builder.AsYAML()
	require.NoError(t, err)
	require.Contains(t, echo, "doris_stream_load")
	require.NotContains(t, echo, "hunter2")
}

// A user in an address is refused, and the refusal does not repeat it.
func TestSecretsInAddressesAreRefusedSilently(t *testing.T) {
	t.Parallel()
	_, err := tryBuild("fe_urls: [ 'http://loader:hunter2@fe:8030', 'http://a:hunter2@b:c:d' ]\n" + target)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
}

func TestCredentialsReachTheBackend(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Users: []emulator.User{{Name: "loader", Password: secret, Load: []string{"d"}}}})
	b := build(t, fields(e.FEURL(), target+"username: loader\npassword: '"+secret+"'"))
	require.NoError(t, b.WriteBatch(within(t), batchOf(`{"id":1}`)))
	require.Equal(t, 1, e.Count("d", "t"))
}
