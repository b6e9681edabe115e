package mermaid

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/parts"
)

// Named is a diagram that the real parser is asked about.
type Named struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Parse fails for each diagram that Mermaid itself refuses. The environment
// variable FSMGEN_MERMAID names the program that asks it.
func Parse(t *testing.T, diagrams []Named) {
	t.Helper()
	script := parts.Address(t, "FSMGEN_MERMAID")
	in, err := json.Marshal(diagrams)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", script)
	cmd.Stdin = strings.NewReader(string(in))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node %s: %v\n%s", script, err, stderr.String())
	}
	var results []struct {
		Name  string `json:"name"`
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatalf("node %s printed %q: %v", script, out, err)
	}
	if len(results) != len(diagrams) {
		t.Fatalf("%d results for %d diagrams", len(results), len(diagrams))
	}
	for i, r := range results {
		if !r.OK {
			t.Errorf("%s: %s\n%s", r.Name, r.Error, diagrams[i].Text)
		}
	}
}
