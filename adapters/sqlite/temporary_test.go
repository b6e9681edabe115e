package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

func TestTemporaryStore(t *testing.T) { storetest.Run(t, temporarySubject) }

func temporarySubject(t *testing.T) storetest.Subject[*sql.Tx] {
	t.Helper()
	store := temporary(t)
	return subjectOf(t, store, store.Path())
}

// temporary opens a temporary store that is closed with the test.
func temporary(t testing.TB) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Temporary(t.Context(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// TestATemporaryStoreLeavesNothing: each call makes its own, and Close removes it with
// its folder.
func TestATemporaryStoreLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	first, err := sqlite.Temporary(t.Context(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := sqlite.Temporary(t.Context(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if first.Path() == second.Path() {
		t.Errorf("both are at %s", first.Path())
	}
	if err = errors.Join(first.Migrate(t.Context(), nil), first.Close(), second.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err = sqlite.Temporary(t.Context(), sqlite.Options{Readers: -1}); err == nil {
		t.Error("options that are wrong are taken")
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left: %v", left, err)
	}
}

// BenchmarkFire fires one event after the other, on a store that waits for the disk and
// on one that does not.
func BenchmarkFire(b *testing.B) {
	for _, tt := range []struct {
		name string
		open func(b *testing.B) *sqlite.Store
	}{
		{"File", func(b *testing.B) *sqlite.Store {
			b.Helper()
			return open(b, filepath.Join(b.TempDir(), "store.db"), sqlite.Options{})
		}},
		{"Temporary", func(b *testing.B) *sqlite.Store { b.Helper(); return temporary(b) }},
	} {
		b.Run(tt.name, func(b *testing.B) {
			e, err := engine.New[*sql.Tx](tt.open(b), engine.Config{}, deal.Define[*sql.Tx](nil, deal.DefaultParams()))
			if err == nil {
				err = e.Migrate(b.Context())
			}
			by := engine.Call{By: deal.ByAdvertiser(7).Caller()}
			for n := 0; b.Loop(); n++ {
				if err == nil {
					_, err = e.Create(b.Context(), "deal", fmt.Sprintf("00000000-0000-4000-8000-%012d", n), deal.Create{OwnerID: 8, PriceNano: 100}, by)
				}
			}
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
