package daemon

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// Options say where a daemon listens, and to whom.
type Options struct {
	Listen string // host:port; port 0: any
	// TokenFile has the tokens that let a request in, one a line; a request carries
	// one as "Authorization: Bearer TOKEN". "": none is asked for.
	TokenFile string
	// Asks says that the API asks for tokens itself, so that the daemon need not.
	Asks bool
	// Cert and Key are the files of the server's certificate. "": no TLS.
	Cert, Key string
	// ClientCA is the file with the CAs of the clients: only who has a certificate of
	// theirs comes in. "": no certificate is asked for. It needs Cert and Key.
	ClientCA string
	// Hosts are further names under which requests may ask for the daemon.
	Hosts []string
	// Public are the paths that need no token.
	Public []string
	// Connections is how many may be there at once. Default 256.
	Connections int
	// Timeouts; 0: the default.
	Timeouts Timeouts
	// MaxHeader is how many bytes the headers of a request may have. Default 16 KiB.
	MaxHeader int
}

// Timeouts bound how long a client may take.
type Timeouts struct {
	Header time.Duration // to send the headers, the TLS handshake included. Default 10 s
	Read   time.Duration // to send a request. Default 30 s
	Write  time.Duration // from the headers to the end of the answer. Default 2 min
	Idle   time.Duration // between two requests. Default 2 min
}

func (o Options) withDefaults() Options {
	const connections, header = 256, 16 << 10
	o.Connections = cmp.Or(o.Connections, connections)
	o.MaxHeader = cmp.Or(o.MaxHeader, header)
	o.Timeouts.Header = cmp.Or(o.Timeouts.Header, 10*time.Second)
	o.Timeouts.Read = cmp.Or(o.Timeouts.Read, 30*time.Second)
	o.Timeouts.Write = cmp.Or(o.Timeouts.Write, 2*time.Minute)
	o.Timeouts.Idle = cmp.Or(o.Timeouts.Idle, 2*time.Minute)
	return o
}

// address resolves where o listens, and refuses what strangers could reach.
func (o Options) address() (*net.TCPAddr, error) {
	a, err := net.ResolveTCPAddr("tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", o.Listen, err)
	}
	if !a.IP.IsLoopback() && o.TokenFile == "" && !o.Asks && o.ClientCA == "" {
		return nil, fmt.Errorf("listen on %s: it is not a loopback address, so anyone on the network could use the API: "+
			"name a token file, or the CA of client certificates, or listen on 127.0.0.1", o.Listen)
	}
	return a, nil
}

// tls is the configuration of o, nil for none.
func (o Options) tls() (*tls.Config, error) {
	switch {
	case (o.Cert == "") != (o.Key == ""):
		return nil, errors.New("a certificate and its key belong together: name both files")
	case o.Cert == "" && o.ClientCA != "":
		return nil, errors.New("client certificates need TLS: name the files of the server's certificate and its key")
	case o.Cert == "":
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate of the server: %w", err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if o.ClientCA == "" {
		return c, nil
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	c.ClientCAs, err = Authorities(o.ClientCA)
	return c, err
}

// Authorities reads the certificates of a file.
func Authorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", file)
	}
	return pool, nil
}
