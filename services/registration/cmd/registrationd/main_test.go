package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/consulagent"
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/services/registration"
)

// program is registrationd as it is built for people.
var program string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "registrationd")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	defer func() { _ = os.RemoveAll(dir) }() // of the system's temporary files
	program = filepath.Join(dir, "registrationd")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build registrationd: %v\n%s", err, out)
		return exitFailed
	}
	return m.Run()
}

// process is registrationd as a process of its own.
type process struct {
	t       *testing.T
	command *exec.Cmd
	url     string // of its API
	ready   map[string]any
	ended   chan error
}

// start starts a daemon and waits until it is ready.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	d := &process{t: t, command: exec.Command(program, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...), ended: make(chan error, 1)}
	log, err := d.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.command.Process.Kill() }) // it has ended, unless the test failed
	lines := bufio.NewScanner(log)
	for d.url == "" && lines.Scan() {
		var line map[string]any
		if json.Unmarshal(lines.Bytes(), &line) == nil && line["msg"] == "ready" {
			d.ready, d.url = line, "http://"+line["listen"].(string)
		}
	}
	if d.url == "" {
		t.Fatal("the daemon was never ready")
	}
	go func() {
		for lines.Scan() { // or it would block
		}
		d.ended <- d.command.Wait()
	}()
	return d
}

// terminates sends SIGTERM; the daemon has to end well, and in the 15 s of the document. They are
// counted in looks, since a busy machine gives less of them to the daemon and to the test.
func (d *process) terminates() {
	d.t.Helper()
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil {
		d.t.Fatal(err)
	}
	const most, pause = 15 * time.Second, 50 * time.Millisecond
	look := time.NewTicker(pause) // a tick that comes too late counts once
	defer look.Stop()
	for looks := 0; ; looks++ {
		select {
		case err := <-d.ended:
			if err != nil {
				d.t.Errorf("it ended with %v", err)
			}
			if looks > int(most/pause) {
				d.t.Errorf("it took %d looks of %s", looks, pause)
			}
			return
		case <-look.C:
		}
	}
}

// says runs a client command and returns its exit code and what it printed.
func (d *process) says(args ...string) (int, string) {
	d.t.Helper()
	return d.reads(event, args...)
}

// reads runs a client command with an input of its own.
func (d *process) reads(input string, args ...string) (int, string) {
	d.t.Helper()
	var out, problems bytes.Buffer
	code := run(d.t.Context(), append(args, "--server", d.url), strings.NewReader(input), &out, &problems)
	return code, out.String() + problems.String()
}

// registers registers a node whose service has an id of its own.
func (d *process) registers(node string) {
	d.t.Helper()
	if code, text := d.reads(strings.Replace(event, "api-1", "api-"+node, 1), "register", node, "--event", "-"); code != 0 {
		d.t.Fatal(text)
	}
}

// reaches waits until the node is in a state.
func (d *process) reaches(node, state string) registration.Status {
	d.t.Helper()
	var s registration.Status
	progress.Until(d.t, "node "+node+" to be "+state, func() (any, bool) {
		s = registration.Status{}
		code, text := d.says("status", node, "--json")
		return text, code == 0 && json.Unmarshal([]byte(text), &s) == nil && s.State.String() == state
	})
	return s
}

const event = `{"envelope": {"correlation_id": "3f2b7a7c-0d7e-4a51-9d5c-0d7e4a519d5c"}, "payload": {"deployment_id": "blue",
	"environment": "test", "network_id": "net-1", "consul_service_id": "api-1", "consul_service_name": "api", "postgres_record": {"host": "10.0.0.7"}}}`

func inProcessConsul(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(consulagent.New(consulagent.Options{}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestDaemon registers, asks, terminates and goes on, as a person would.
func TestDaemon(t *testing.T) {
	t.Parallel()
	dir, consul := t.TempDir(), inProcessConsul(t)
	traces := filepath.Join(dir, "traces.json")
	args := []string{"--dir", dir, "--consul", consul, "--name", "here", "--traces", traces}
	d := start(t, args...)
	if d.ready["store"] != "sqlite" || d.ready["consul"] != consul {
		t.Errorf("ready: %v", d.ready)
	}
	if code, text := d.says("register", "n1", "--event", "-", "--key", "k"); code != 0 || !strings.Contains(text, "node n1 is validating") {
		t.Fatalf("%d %s", code, text)
	}
	if s := d.reaches("n1", "registered"); s.Daemon != "here" || s.CorrelationID != "3f2b7a7c-0d7e-4a51-9d5c-0d7e4a519d5c" || s.Row == nil || !*s.Row || s.Service == nil || !*s.Service {
		t.Errorf("got %+v", s)
	}
	if code, text := d.says("status", "n1"); code != 0 || !strings.Contains(text, "node n1 is registered since") {
		t.Errorf("%d %s", code, text)
	}
	if code, text := d.says("history", "n1"); code != 0 || !strings.Contains(text, "consul_success") {
		t.Errorf("%d %s", code, text)
	}
	if code, text := d.says("retry", "n1"); code != 1 || !strings.Contains(text, "INVALID_TRANSITION") {
		t.Errorf("%d %s", code, text)
	}
	if code, text := d.says("gc"); code != 0 || !strings.Contains(text, "0 rows, 0 services") {
		t.Errorf("%d %s", code, text)
	}
	if text := get(t, d.url+"/metrics"); !strings.Contains(text, `registration_complete{deployment_id="blue",environment="test",node_id="n1"} 1`) ||
		!strings.Contains(text, `registration_gc_run_total{gc_type="consul"} 1`) {
		t.Errorf("the metrics are\n%s", text)
	}
	d.terminates()

	d = start(t, args...)
	if text, err := os.ReadFile(traces); err != nil || strings.Count(string(text), `"TraceID":"3f2b7a7c0d7e4a519d5c0d7e4a519d5c"`) < 20 {
		t.Errorf("the traces are %s, %v", text, err)
	}
	if s := d.reaches("n1", "deregistered"); s.ConsulCleanup.String() != "removed" || s.PostgresCleanup.String() != "removed" {
		t.Errorf("SIGTERM left %+v", s)
	}
	d.terminates()
}

// TestDaemonWithoutConsul starts in a mode that says so.
func TestDaemonWithoutConsul(t *testing.T) {
	t.Parallel()
	d := start(t, "--dir", t.TempDir())
	if d.ready["consul"] != "none" {
		t.Errorf("ready: %v", d.ready)
	}
	if text := get(t, d.url+"/healthz"); !strings.Contains(text, `"consul": "none: nodes are registered in the database alone"`) {
		t.Errorf("healthz says %s", text)
	}
	file := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(file, []byte(event), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text := d.says("register", "n1", "--event", file); code != 0 {
		t.Fatal(text)
	}
	d.reaches("n1", "partial_registered")
	if _, text := d.says("status", "n1"); !strings.Contains(text, "started without Consul") {
		t.Errorf("status says %s", text)
	}
	d.terminates()
}

// TestConsulComesLater: the daemon starts although Consul is not there.
func TestConsulComesLater(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	d := start(t, "--dir", t.TempDir(), "--consul", gone.URL)
	if text := get(t, d.url+"/healthz"); !strings.Contains(text, `"store": "ok"`) || !strings.Contains(text, `"consul": "unavailable: refused"`) {
		t.Errorf("healthz says %s", text)
	}
	d.terminates()
}

// TestConsulWithTLSAndToken: the agent's CA is in a file, the token in the
// environment, where no list of processes shows it.
func TestConsulWithTLSAndToken(t *testing.T) {
	server := httptest.NewTLSServer(consulagent.New(consulagent.Options{Token: "secret"}))
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	stranger := start(t, "--dir", t.TempDir(), "--consul", server.URL)
	if text := get(t, stranger.url+"/healthz"); !strings.Contains(text, `"consul": "unavailable: `) || strings.Contains(text, "127.0.0.1") {
		t.Errorf("without the CA healthz says %s", text)
	}
	stranger.terminates()
	t.Setenv(envToken, "secret")
	d := start(t, "--dir", t.TempDir(), "--consul", server.URL, "--consul-ca", ca)
	if code, text := d.says("register", "n1", "--event", "-"); code != 0 {
		t.Fatal(text)
	}
	d.reaches("n1", "registered")
	d.terminates()
}

// TestUsage: what can't be obeyed says what to say instead.
func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"explode"}, {"serve", "--explode"}, {"serve", "here"}, {"status"}, {"status", "a", "b"}, {"register", "a"}, {"register", "a", "--event", "/nowhere"},
		{"serve", "--store", "mysql://x"}, {"serve", "--dir", t.TempDir(), "--consul", "ftp://x"},
	} {
		var problems bytes.Buffer
		if code := run(context.Background(), args, nil, io.Discard, &problems); code != exitUsage || !strings.Contains(problems.String(), "help: registrationd") {
			t.Errorf("%v: %d %s", args, code, &problems)
		}
	}
	var problems bytes.Buffer
	if code := run(context.Background(), []string{"status", "a", "--server", "http://127.0.0.1:1"}, nil, io.Discard, &problems); code != exitFailed {
		t.Errorf("no daemon there: %d %s", code, &problems)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	a, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }() // it was read
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
