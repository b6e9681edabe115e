package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStrangersNeedAToken: an address that is not loopback is not served openly.
func TestStrangersNeedAToken(t *testing.T) {
	t.Parallel()
	var problems bytes.Buffer
	code := run(context.Background(), []string{"serve", "--listen", "0.0.0.0:0", "--dir", t.TempDir()}, nil, io.Discard, &problems)
	if code != exitUsage || !strings.Contains(problems.String(), "not a loopback address") {
		t.Errorf("%d %s", code, &problems)
	}
}

// TestToken: with a token file the API wants a token, of the clients of this command
// too; whether the daemon is well is told to any caller.
func TestToken(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := start(t, "--dir", t.TempDir(), "--listen", "0.0.0.0:0", "--token-file", token)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(d.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	d.url = "http://127.0.0.1:" + port
	if code, text := d.says("register", "n1", "--event", "-"); code != exitFailed || !strings.Contains(text, "UNAUTHORIZED") {
		t.Errorf("without a token: %d %s", code, text)
	}
	if code, text := d.says("register", "n1", "--event", "-", "--token-file", token); code != 0 {
		t.Errorf("with the token: %d %s", code, text)
	}
	if text := get(t, d.url+"/metrics"); !strings.Contains(text, "UNAUTHORIZED") {
		t.Errorf("the metrics are there for any caller: %s", text)
	}
	if text := get(t, d.url+"/healthz"); !strings.Contains(text, `"store": "ok"`) {
		t.Errorf("healthz says %s", text)
	}
	d.terminates()
}

// TestOtherHosts: a name that resolves to this machine is not a name of the daemon.
func TestOtherHosts(t *testing.T) {
	t.Parallel()
	d := start(t, "--dir", t.TempDir(), "--host", "nodes.example")
	for host, want := range map[string]int{"evil.example": http.StatusMisdirectedRequest, "nodes.example": http.StatusOK} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+"/v1/gc", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Host = host
		a, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close() // its status is enough
		if a.StatusCode != want {
			t.Errorf("%s: %s", host, a.Status)
		}
	}
	d.terminates()
}

// TestHelpShowsNoSecret: what the environment says is used, and not printed.
func TestHelpShowsNoSecret(t *testing.T) {
	const secret = "hunter2"
	t.Setenv(envStore, "postgres://fsm:"+secret+"@db/x")
	t.Setenv(envConsul, "http://fsm:"+secret+"@127.0.0.1:1")
	t.Setenv(envServer, "http://fsm:"+secret+"@127.0.0.1:1")
	t.Setenv(envToken, secret)
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"status", "--help"}, {"serve", "--explode"}} {
		var out bytes.Buffer
		run(context.Background(), args, nil, &out, &out)
		if strings.Contains(out.String(), secret) || out.Len() == 0 {
			t.Errorf("%v prints\n%s", args, &out)
		}
	}
	var out bytes.Buffer
	if code := run(context.Background(), []string{"status", "n1"}, nil, &out, &out); code != exitFailed || strings.Contains(out.String(), secret) ||
		!strings.Contains(out.String(), "127.0.0.1:1") {
		t.Errorf("the server of the environment: %d %s", code, &out)
	}
}

// TestFilesArePrivate: no other user reads what the daemon writes.
func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	d := start(t, "--dir", dir, "--traces", filepath.Join(t.TempDir(), "traces.json"))
	if code, text := d.says("register", "n1", "--event", "-"); code != 0 {
		t.Fatal(text)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 {
		t.Error("the daemon has no file")
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", entry.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info.Mode(), err)
	}
	d.terminates()
}
