package consul

import (
	"net"
	"net/http"
	"time"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// maxAnswer bounds what an agent may answer: more is no answer of an agent.
const maxAnswer = 64 << 20

// newHTTPClient follows no redirect: Consul sends one only for a path that it
// has tidied, which would be about something else, and another server would get
// the token.
func newHTTPClient(o Options) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &transport{token: o.Token, next: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: o.Timeout}).DialContext,
			TLSHandshakeTimeout: o.Timeout,
			TLSClientConfig:     o.TLS.Clone(),
			IdleConnTimeout:     90 * time.Second,
			MaxIdleConnsPerHost: 32,
			ForceAttemptHTTP2:   true,
		}},
	}
}

// transport adds to a request what belongs to all of them.
type transport struct {
	token string
	next  *http.Transport
}

// RoundTrip keeps the contract of http.RoundTripper: the request stays as it is.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Del("X-Consul-Token")
	if t.token != "" {
		r.Header.Set("X-Consul-Token", t.token)
	}
	if id := discovery.Correlation(r.Context()); id != "" {
		r.Header.Set("X-Correlation-ID", id)
	}
	answer, err := t.next.RoundTrip(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	}
	return answer, err
}

// CloseIdleConnections is what http.Client calls.
func (t *transport) CloseIdleConnections() { t.next.CloseIdleConnections() }

// fitsHeader reports whether a text can be the value of a header.
func fitsHeader(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
