package crash

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// faultVariable names the fault of the store that a process has.
const faultVariable = "FSMGEN_CRASH_FAULT"

// TestTheProofFindsFaults: the generated proofs fail on a store that breaks a sentence of
// its contract, and name the problem.
func TestTheProofFindsFaults(t *testing.T) {
	if fault := os.Getenv(faultVariable); fault != "" {
		proveFaulty(t, fault)
		return
	}
	for fault, want := range map[string][]string{
		// Uninterrupted runs end well on it. Only a kill shows the fault.
		"writes behind": {"killed in upload", "the outbox has 0 rows"},
		"forgets keys":  {"its key says"},
		"claims twice":  {"follows attempt"},
		"tells both":    {"were both accepted with version"}, // of callers who race
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestTheProofFindsFaults$")
			cmd.Env = append(os.Environ(), faultVariable+"="+fault, "FSMGEN_COUNTS=")
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("the proof passes:\n%s", out)
			}
			for _, text := range want {
				if !strings.Contains(string(out), text) {
					t.Errorf("the proof does not say %q, but:\n%.2000s", text, out)
				}
			}
		})
	}
}

// proveFaulty is the proof, and its children, on a store with a fault.
func proveFaulty(t *testing.T, fault string) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := childMain(t.Context(), faulty(FileDatabase(os.Getenv(childFile)), fault), uploads(), dir); err != nil {
			t.Fatal(err)
		}
		return
	}
	set, err := uploads().scenarioSet()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "faulty.db")
	if fault == "tells both" {
		race(t, set, uploads(), faulty(FileDatabase(file), fault))
		return
	}
	p := proofOn(faulty(FileDatabase(file), fault), program(t), childFile, file)
	prove(t, set, uploads(), p)
}

func faulty(d Database[*sql.Tx], fault string) Database[*sql.Tx] {
	open := d.Open
	d.Open = func(ctx context.Context) (store.Store[*sql.Tx], func() error, error) {
		s, closeStore, err := open(ctx)
		return &faultyStore{Store: s, fault: fault}, closeStore, err
	}
	return d
}

// faultyStore breaks one sentence of the contract of a store.
type faultyStore struct {
	store.Store[*sql.Tx]
	fault  string
	behind []store.Commit // messages that are yet to be written

	mu    sync.Mutex
	stale []store.Row // what was loaded last, and is loaded once more
}

// Load gives every other caller what the one before had.
func (s *faultyStore) Load(ctx context.Context, tx *sql.Tx, queries []store.Query) ([]store.Row, error) {
	rows, err := s.Store.Load(ctx, tx, queries)
	if s.fault != "tells both" || err != nil {
		return rows, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stale := s.stale
	s.stale = rows
	if len(stale) == 1 && len(rows) == 1 && stale[0].Record != nil && rows[0].Record != nil && stale[0].Version+1 == rows[0].Version {
		s.stale = nil
		return stale, nil
	}
	return rows, nil
}

func (s *faultyStore) Save(ctx context.Context, tx *sql.Tx, commits []store.Commit) error {
	for i := range commits {
		c := &commits[i]
		switch {
		case s.fault == "forgets keys":
			c.IdempotencyKeys = nil
		case s.fault == "writes behind" && len(c.Outbox) > 0:
			s.behind = append(s.behind, store.Commit{Machine: c.Machine, Tables: c.Tables, ID: c.ID, IDValue: c.IDValue, Outbox: c.Outbox})
			c.Outbox = nil
		}
	}
	err := s.Store.Save(ctx, tx, commits)
	if s.fault == "tells both" && errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}

func (s *faultyStore) Claim(ctx context.Context, c store.Claim) ([]store.Task, error) {
	if behind := s.behind; len(behind) > 0 {
		s.behind = nil
		if err := s.InTx(ctx, func(tx *sql.Tx) error { return s.Store.Save(ctx, tx, behind) }); err != nil {
			return nil, err
		}
	}
	tasks, err := s.Store.Claim(ctx, c)
	if s.fault == "claims twice" {
		tasks = append(tasks, tasks...)
	}
	return tasks, err
}
