package discoverytest

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// secured puts TLS before the server.
func (r *run) secured(config *tls.Config) (server *httptest.Server, cas *x509.CertPool) {
	r.Helper()
	r.needsNetwork()
	server = httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(r.url()))
	server.TLS = config
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	r.Cleanup(server.Close)
	cas = x509.NewCertPool()
	cas.AddCert(server.Certificate())
	return server, cas
}

func overTLS(r *run) {
	server, cas := r.secured(nil)
	s := r.service(1)
	o := r.at(server.URL)
	r.is(r.with(o).Register(r.Context(), s), discovery.ErrUnreachable) // the CA is unknown
	o.TLS = &tls.Config{RootCAs: cas, ServerName: "another.test"}
	r.is(r.with(o).Register(r.Context(), s), discovery.ErrUnreachable)
	r.nothing()

	o.TLS = &tls.Config{RootCAs: cas}
	c := r.with(o)
	r.must(c.Register(r.Context(), s))
	r.there(s, discovery.Passing)
	r.must(c.Heartbeat(r.Context(), s.RegistrationID))
	r.must(c.Deregister(r.Context(), s.ID, s.RegistrationID))
	o.Token = unknownToken
	r.is(r.with(o).Register(r.Context(), s), discovery.ErrNotPermitted)
}

func mutualTLS(r *run) {
	// In TLS 1.2 the client is told within its handshake.
	server, cas := r.secured(&tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12})
	s := r.service(1)
	o := r.at(server.URL)
	o.TLS = &tls.Config{RootCAs: cas}
	r.is(r.with(o).Register(r.Context(), s), discovery.ErrNotPermitted)
	r.nothing()
	o.TLS = &tls.Config{RootCAs: cas, Certificates: server.TLS.Certificates} // any will do
	c := r.with(o)
	r.must(c.Register(r.Context(), s))
	r.must(c.Deregister(r.Context(), s.ID, s.RegistrationID))
}

// quiet drops what a server logs about handshakes that fail on purpose.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
