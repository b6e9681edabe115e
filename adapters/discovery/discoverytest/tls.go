package discoverytest

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http/httptest"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// secured puts TLS before the agent.
func (l *lab) secured(config *tls.Config) (server *httptest.Server, cas *x509.CertPool) {
	l.Helper()
	server = httptest.NewUnstartedServer(l.recorder())
	server.TLS = config
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	l.Cleanup(server.Close)
	cas = x509.NewCertPool()
	cas.AddCert(server.Certificate())
	return server, cas
}

func overTLS(l *lab) {
	server, cas := l.secured(nil)
	s := l.service(1)
	o := l.at(server.URL)
	l.is(l.with(o).Register(l.Context(), s), discovery.ErrUnreachable) // the CA is unknown
	o.TLS = &tls.Config{RootCAs: cas, ServerName: "another.test"}
	l.is(l.with(o).Register(l.Context(), s), discovery.ErrUnreachable)
	l.nothing()

	o.TLS = &tls.Config{RootCAs: cas}
	c := l.with(o)
	l.must(c.Register(l.Context(), s))
	l.there(s, discovery.Passing)
	l.must(c.Heartbeat(l.Context(), s.RegistrationID))
	l.must(c.Deregister(l.Context(), s.ID, s.RegistrationID))
	o.Token = unknownToken
	l.is(l.with(o).Register(l.Context(), s), discovery.ErrNotPermitted)
}

func mutualTLS(l *lab) {
	// In TLS 1.2 the client is told within its handshake.
	server, cas := l.secured(&tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12})
	s := l.service(1)
	o := l.at(server.URL)
	o.TLS = &tls.Config{RootCAs: cas}
	l.is(l.with(o).Register(l.Context(), s), discovery.ErrNotPermitted)
	l.nothing()
	o.TLS = &tls.Config{RootCAs: cas, Certificates: server.TLS.Certificates} // any will do
	c := l.with(o)
	l.must(c.Register(l.Context(), s))
	l.must(c.Deregister(l.Context(), s.ID, s.RegistrationID))
}

// quiet drops what a server says of handshakes that fail on purpose.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
