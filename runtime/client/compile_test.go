package client_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program is a program that uses two clients, with one statement to be tried.
const program = `package main

import (
	"context"
	"database/sql"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/gc"
	"github.com/fsmgen/fsmgen/generated/upload"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func try(ctx context.Context, e *engine.Engine[*sql.Tx], id fsm.UUID, tx *sql.Tx) {
	deals := deal.In(e)
	STATEMENT
}

var (
	_ deal.Accept
	_ upload.AbortUpload
	_ gc.State
)

func main() {}
`

// TestMistakesDoNotCompile: what a client is given of another machine, of another type
// or by another name is found by the compiler, which names it.
func TestMistakesDoNotCompile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ statement, want string }{
		"right":                {`o, _ := deals.Accept(ctx, id, deal.ByOwner(8)); _ = o.Record.PriceNano`, ""},
		"another machine":      {`_, _ = deals.Fire(ctx, id, upload.AbortUpload{})`, "upload.AbortUpload"},
		"a payload of another": {`_, _ = deals.CounterOffer(ctx, id, deal.Create{})`, "deal.Create"},
		"a misspelt event":     {`_, _ = deals.Acept(ctx, id)`, "deals.Acept undefined"},
		"a misspelt field":     {`o, _ := deals.Get(ctx, id); _ = o.Record.PriceNanos`, "PriceNanos"},
		"an id as text":        {`_, _ = deals.Accept(ctx, "5f0c3a0e-0000-4000-8000-000000000001")`, "fsm.UUID"},
		"an internal event":    {`_, _ = deals.StartVerification(ctx, id)`, "deals.StartVerification undefined"},
		"a state of another":   {`_, _ = deals.List(ctx, gc.State(1), nil, 0)`, "gc.State"},
		"another transaction":  {`_ = deals.Tx(5)`, "*sql.Tx"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(path, []byte(strings.Replace(program, "STATEMENT", tt.statement, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), "go", "vet", path).CombinedOutput()
			if tt.want == "" && err != nil || tt.want != "" && err == nil || !strings.Contains(string(out), tt.want) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
