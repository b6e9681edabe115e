package main

import (
	"encoding/json"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// address returns what the runner says of a part. Outside the runner there is
// nothing to test.
func address(t *testing.T, variable string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" && isSet(requireVariable) {
		t.Fatalf("%s is not set", variable)
	}
	if value == "" {
		t.Skipf("%s is not set: run under tools/parts", variable)
	}
	return value
}

// A PostgreSQL server answers a request for TLS with one byte: N without it.
func TestPostgresAnswers(t *testing.T) {
	dsn, err := url.Parse(address(t, "FSMGEN_POSTGRES_DSN"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", dsn.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte{0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f}); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 1)
	if _, err := conn.Read(answer); err != nil || answer[0] != 'N' {
		t.Errorf("answer = %q, %v", answer, err)
	}
}

func TestSQLiteAnswers(t *testing.T) {
	out, err := exec.Command(address(t, "FSMGEN_SQLITE3"), ":memory:", "SELECT 'here'").Output()
	if err != nil || strings.TrimSpace(string(out)) != "here" {
		t.Errorf("answer = %q, %v", out, err)
	}
}

func TestMermaidParses(t *testing.T) {
	cmd := exec.Command("node", address(t, "FSMGEN_MERMAID"))
	cmd.Stdin = strings.NewReader(`[
		{"name": "good", "text": "stateDiagram-v2\n [*] --> a\n a --> b : GO [x > 1]"},
		{"name": "bad", "text": "stateDiagram-v2\n a --> --> b"},
		{"name": "flow", "text": "flowchart TD\n A-->B"}
	]`)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var results []struct {
		Name  string
		OK    bool
		Type  string
		Error string
	}
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatal(err)
	}
	if len(results) != 3 {
		t.Fatalf("results = %+v", results)
	}
	if r := results[0]; r.Name != "good" || !r.OK || r.Type != "stateDiagram" {
		t.Errorf("the good diagram: %+v", r)
	}
	if r := results[1]; r.Name != "bad" || r.OK || !strings.Contains(r.Error, "line 2") {
		t.Errorf("the bad diagram: %+v", r)
	}
	if r := results[2]; !r.OK || r.Type == "stateDiagram" {
		t.Errorf("the flow chart: %+v", r)
	}
}
