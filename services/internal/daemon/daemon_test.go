package daemon_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/services/internal/daemon"
)

const token = "0123456789abcdef-one"

// opened listens and answers "in".
func opened(t *testing.T, o daemon.Options) *daemon.Server {
	t.Helper()
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	d, err := daemon.Listen(o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- d.Serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") }))
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // what is under way by now is cut short
		_ = d.Shutdown(ctx)
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return d
}

// asks sends a request and returns the status and the body of the answer.
func asks(t *testing.T, d *daemon.Server, change func(*http.Request)) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+d.Addr().String()+"/v1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(q)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }() // it was read
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

func bearer(token string) func(*http.Request) {
	return func(q *http.Request) { q.Header.Set("Authorization", "Bearer "+token) }
}

// file writes a file that only its owner can read.
func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestStrangersNeedALock: only a loopback address may be open.
func TestStrangersNeedALock(t *testing.T) {
	for _, listen := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0"} {
		_, err := daemon.Listen(daemon.Options{Listen: listen}, slog.Default())
		if err == nil || !strings.Contains(err.Error(), "not a loopback address") || !strings.Contains(err.Error(), "token file") {
			t.Errorf("%s: %v", listen, err)
		}
	}
	for _, listen := range []string{"127.0.0.1:0", "localhost:0", "127.0.0.2:0"} {
		opened(t, daemon.Options{Listen: listen})
	}
	opened(t, daemon.Options{Listen: "0.0.0.0:0", TokenFile: file(t, token)})
}

// TestBadFiles: what can't be a lock is none.
func TestBadFiles(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	if err := os.WriteFile(open, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		options daemon.Options
		want    string
	}{
		"missing":        {daemon.Options{TokenFile: "/nowhere"}, "no such file"},
		"empty":          {daemon.Options{TokenFile: file(t, "\n\n")}, "openssl rand"},
		"short":          {daemon.Options{TokenFile: file(t, "secret")}, "fewer than 16 characters"},
		"everybody's":    {daemon.Options{TokenFile: open}, "chmod 600"},
		"half a pair":    {daemon.Options{Cert: open}, "belong together"},
		"CA without TLS": {daemon.Options{ClientCA: open}, "need TLS"},
	} {
		tt.options.Listen = "127.0.0.1:0"
		if _, err := daemon.Listen(tt.options, slog.Default()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want: %s", name, err, tt.want)
		}
	}
}

// TestToken: a token is asked for, for each path that is not public; the file
// is read again when it changes.
func TestToken(t *testing.T) {
	name := file(t, token+"\n")
	d := opened(t, daemon.Options{TokenFile: name, Public: []string{"/healthz"}})
	want := func(status int, change func(*http.Request)) {
		t.Helper()
		if got, text := asks(t, d, change); got != status || status != 200 && !strings.Contains(text, "UNAUTHORIZED") {
			t.Errorf("%d %s, want %d", got, text, status)
		}
	}
	want(401, nil)
	want(401, bearer(token+"x"))
	want(401, bearer(""))
	want(401, func(q *http.Request) { q.Header.Set("Authorization", token) })
	want(401, func(q *http.Request) { q.URL.Path = "/healthz/../v1" })
	want(200, bearer(token))
	want(200, func(q *http.Request) { q.URL.Path = "/healthz" })

	// Another token, then both, then a file that is gone: each request is refused.
	const other = "another token of some length"
	rewrite := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rewrite(other)
	want(401, bearer(token))
	want(200, bearer(other))
	rewrite(other + "\n" + token)
	want(200, bearer(token))
	want(200, bearer(other))
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	want(401, bearer(token))
	rewrite(token)
	want(200, bearer(token))
}

// TestHosts: a request names the daemon as it knows itself.
func TestHosts(t *testing.T) {
	d := opened(t, daemon.Options{Hosts: []string{"nodes.example"}})
	for host, status := range map[string]int{
		"127.0.0.1": 200, "localhost": 200, "LOCALHOST:8400": 200, "nodes.example": 200, "nodes.example:443": 200,
		"evil.example": 421, "evil.example:8400": 421, "nodes.example.evil.example": 421, "192.0.2.1": 421, "localhost.evil.example": 421,
	} {
		if got, text := asks(t, d, func(q *http.Request) { q.Host = host }); got != status || status != 200 && !strings.Contains(text, "UNKNOWN_HOST") {
			t.Errorf("%s: %d %s, want %d", host, got, text, status)
		}
	}
}

// TestOrigins: a browser sends nothing from a page of another origin.
func TestOrigins(t *testing.T) {
	d := opened(t, daemon.Options{})
	for name, header := range map[string][2]string{
		"by site": {"Sec-Fetch-Site", "cross-site"}, "by origin": {"Origin", "https://evil.example"},
	} {
		got, text := asks(t, d, func(q *http.Request) { q.Header.Set(header[0], header[1]) })
		if got != 403 || !strings.Contains(text, "CROSS_ORIGIN") {
			t.Errorf("%s: %d %s", name, got, text)
		}
	}
	if got, _ := asks(t, d, func(q *http.Request) { q.Header.Set("Sec-Fetch-Site", "same-origin") }); got != 200 {
		t.Errorf("its own origin: %d", got)
	}
}

// TestSlowClientsAreCutOff: who sends half a header, half a body or nothing more is
// let go of. The test waits for that as long as it takes.
func TestSlowClientsAreCutOff(t *testing.T) {
	const soon = 50 * time.Millisecond
	d := opened(t, daemon.Options{Timeouts: daemon.Timeouts{Header: soon, Read: soon, Write: soon, Idle: soon}})
	for name, sent := range map[string]string{
		"half a header": "POST /v1 HTTP/1.1\r\nHost: local", "silence": "",
		"half a body": "POST /v1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nx",
		"idling":      "POST /v1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
	} {
		c, err := net.Dial("tcp", d.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(c, sent) // on a busy machine it has been cut off before
		if err == nil {
			_, err = io.Copy(io.Discard, c)
		}
		if err != nil && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			t.Errorf("%s: %v", name, err)
		}
		_ = c.Close() // it is at its end
	}
}

// TestHeadersHaveASize: a header that is too large is not served. The connection may be
// reset before the answer was read.
func TestHeadersHaveASize(t *testing.T) {
	d := opened(t, daemon.Options{MaxHeader: 1 << 10})
	for size, want := range map[int]string{512: "200", 64 << 10: "431"} {
		c, err := net.Dial("tcp", d.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, failure := io.WriteString(c, "POST /v1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nX-Long: "+strings.Repeat("x", size)+"\r\n\r\n")
		a, err := http.ReadResponse(bufio.NewReader(c), nil)
		if failure = errors.Join(failure, err); failure == nil && !strings.HasPrefix(a.Status, want) || failure != nil && want == "200" {
			t.Errorf("a header of %d bytes: %v, %v", size, a, failure)
		}
		if err == nil {
			_ = a.Body.Close() // its status is enough
		}
		_ = c.Close() // it is at its end
	}
}

// TestConnectionsHaveANumber: one more waits until another ends.
func TestConnectionsHaveANumber(t *testing.T) {
	d := opened(t, daemon.Options{Connections: 2})
	talk := func(c net.Conn) error {
		if _, err := io.WriteString(c, "POST /v1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"); err != nil {
			return err
		}
		a, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err == nil {
			err = a.Body.Close()
		}
		return err
	}
	var there []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", d.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() }) // it may be closed already
		there = append(there, c)
		if len(there) == 3 {
			break
		}
		if err := talk(c); err != nil {
			t.Fatal(err)
		}
	}
	answered := make(chan error, 1)
	go func() { answered <- talk(there[2]) }()
	select {
	case err := <-answered:
		t.Errorf("the third connection is answered beside two others: %v", err)
	case <-time.After(100 * time.Millisecond): // no proof; a failure is one
	}
	if err := there[0].Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("the third connection, once another has ended: %v", err)
	}
}

// TestClientCertificates: only who has a certificate of the CA comes in, from
// wherever.
func TestClientCertificates(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, "server")
	d := opened(t, daemon.Options{Listen: "0.0.0.0:0", Cert: cert, Key: key, ClientCA: ca.file})
	pool, err := daemon.Authorities(ca.file)
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(d.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(own ...tls.Certificate) error {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: own, MinVersion: tls.VersionTLS12}}
		defer transport.CloseIdleConnections()
		a, err := (&http.Client{Transport: transport}).Get("https://127.0.0.1:" + port)
		if err != nil {
			return err
		}
		defer func() { _ = a.Body.Close() }() // its status is enough
		if a.StatusCode != http.StatusOK {
			return fmt.Errorf("answered %s", a.Status)
		}
		return nil
	}
	pair := func(ca *authority) tls.Certificate {
		cert, key := ca.issue(t, "client")
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	if err := ask(pair(ca)); err != nil {
		t.Errorf("with a certificate: %v", err)
	}
	if err := ask(); err == nil {
		t.Error("without a certificate it is let in")
	}
	if err := ask(pair(newAuthority(t))); err == nil {
		t.Error("with a certificate of another CA it is let in")
	}
}

// authority is a CA in files.
type authority struct {
	dir, file string
	cert      *x509.Certificate
	key       *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.key = newKey(t)
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.file = a.write(t, "ca.pem", "CERTIFICATE", a.sign(t, a.cert, a.key))
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) sign(t *testing.T, c *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func (a *authority) write(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := pem.Encode(&b, &pem.Block{Type: kind, Bytes: der}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// issue makes a certificate for 127.0.0.1, and a client.
func (a *authority) issue(t *testing.T, name string) (cert, key string) {
	t.Helper()
	own := newKey(t)
	der := a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, own)
	private, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return a.write(t, name+".pem", "CERTIFICATE", der), a.write(t, name+".key", "PRIVATE KEY", private)
}
