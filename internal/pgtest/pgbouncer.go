//go:build unix

package pgtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fsmgen/fsmgen/internal/parts"
)

// BouncerVariable names the program pgbouncer.
const BouncerVariable = "FSMGEN_PGBOUNCER"

// PgBouncer starts a PgBouncer of the test's own in transaction mode before the server of
// dsn, and returns a connection string to it without a user. settings are lines of its
// section [pgbouncer]. Each role of the server may connect.
func PgBouncer(t testing.TB, dsn string, settings ...string) string {
	t.Helper()
	program := parts.Address(t, BouncerVariable)
	if program == "absent" {
		t.Skip("there is no PgBouncer; the summary of the parts says so")
	}
	server, err := pgconn.ParseConfig(dsn)
	must(t, err)
	dir, err := os.MkdirTemp("", "fsmgen-pgbouncer-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	config := fmt.Sprintf(`[databases]
* = host=%s port=%d auth_user=%s
[pgbouncer]
pool_mode = transaction
unix_socket_dir = %s
listen_addr =
auth_type = trust
auth_file = %[4]s/users
auth_user = %[3]s
max_client_conn = 1000
default_pool_size = 5
server_idle_timeout = 1
logfile = %[4]s/log
`, server.Host, server.Port, server.User, dir)
	for _, line := range settings {
		config += line + "\n"
	}
	must(t, os.WriteFile(filepath.Join(dir, "pgbouncer.ini"), []byte(config), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "users"), fmt.Appendf(nil, "%q %q\n", server.User, server.Password), 0o644))
	account := giveAway(t, dir) // it refuses to run as root, as the server does
	// The kernel closes the input of cat when this process is gone.
	c := exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c", `"$0" pgbouncer.ini & cat >/dev/null; kill $!; wait`, program)
	c.Dir, c.SysProcAttr = dir, &syscall.SysProcAttr{Credential: account}
	startUntilEnd(t, c)
	progress.Until(t, "the first connection to pgbouncer", func() (any, bool) {
		conn, err := net.Dial("unix", filepath.Join(dir, ".s.PGSQL.6432"))
		if err == nil {
			must(t, conn.Close())
			return nil, true
		}
		log := readLog(dir)
		if bytes.Contains(log, []byte("FATAL")) {
			t.Fatalf("pgbouncer does not take connections: %s", log)
		}
		return string(log), false
	})
	return fmt.Sprintf("host=%s port=6432 dbname=%s sslmode=disable", dir, server.Database)
}

// readLog returns what a program in dir has logged; nothing before it begins to.
func readLog(dir string) []byte {
	text, _ := os.ReadFile(filepath.Join(dir, "log"))
	return text
}
