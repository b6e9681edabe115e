//go:build unix

package crash_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/proptest/crash"
)

// TestServerKilledUnderLoad kills a server of its own, with 32 clients in the middle of
// their commits.
func TestServerKilledUnderLoad(t *testing.T) {
	t.Parallel()
	s := pgtest.NewServer(t, "fsync=off", "synchronous_commit=on")
	crash.KillServer(t, postgresIn(s.DSN()+" pool_max_conns=40", "server_kill"), 32, s.Crash)
}
