//go:build unix

package pgtest

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/fsmgen/fsmgen/internal/parts"
)

// Server is a PostgreSQL server of the test's own, which it can crash. It is reached by
// a socket in its folder.
type Server struct {
	t              testing.TB
	bin, dir, data string
	settings       string
	account        *syscall.Credential
}

// NewServer starts a server that ends with the test, however that ends. settings are
// like "fsync=off". Without PostgreSQL's programs they are missing.
func NewServer(t testing.TB, settings ...string) *Server {
	t.Helper()
	bin := programs()
	if bin == "" {
		parts.Missing(t, "initdb and pg_ctl are neither in PG_BIN, on the PATH, nor in /usr/lib/postgresql/*/bin")
	}
	dir, err := os.MkdirTemp("", "fsmgen-server-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	s := &Server{t: t, bin: bin, dir: dir, data: filepath.Join(dir, "data")}
	s.settings = "-c listen_addresses= -c unix_socket_directories=" + dir
	for _, setting := range settings {
		s.settings += " -c " + setting
	}
	s.account = giveAway(t, dir)
	s.run("initdb", "-D", s.data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
	s.start()
	// The kernel closes the input of sh when this process is gone.
	guard := s.command("sh", "-c", `cat >/dev/null; exec "$0" stop -s -D "$1" -m immediate`, filepath.Join(bin, "pg_ctl"), s.data)
	startUntilEnd(t, guard)
	return s
}

// startUntilEnd starts a command whose input is closed when the test ends, and then waits
// for it.
func startUntilEnd(t testing.TB, c *exec.Cmd) {
	t.Helper()
	alive, err := c.StdinPipe()
	must(t, err)
	must(t, c.Start())
	t.Cleanup(func() {
		must(t, alive.Close())
		must(t, c.Wait())
	})
}

// programs returns the folder of the server's programs: PG_BIN, then the PATH, then
// Debian's newest.
func programs() string {
	candidates := []string{os.Getenv("PG_BIN")}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		candidates = append(candidates, filepath.Dir(initdb))
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is well formed
	major := func(bin string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin))) // 0 sorts last
		return n
	}
	slices.SortFunc(debian, func(a, b string) int { return cmp.Compare(major(b), major(a)) })
	for _, bin := range append(candidates, debian...) {
		_, err := os.Stat(filepath.Join(bin, "initdb"))
		_, problem := os.Stat(filepath.Join(bin, "pg_ctl"))
		if bin != "" && err == nil && problem == nil {
			return bin
		}
	}
	return ""
}

// giveAway gives a folder to the account that it returns, where this process is root:
// servers refuse to run as root.
func giveAway(t testing.TB, dir string) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		must(t, err)
		gid, err := strconv.Atoi(u.Gid)
		must(t, err)
		must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Chown(path, uid, gid)
		}))
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	t.Fatal("the server will not run as root, and there is no user postgres or nobody: create one of them")
	return nil
}

// Socket is where the server listens.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

// DSN reaches the server by its socket.
func (s *Server) DSN() string {
	return "host=" + s.dir + " user=postgres dbname=postgres sslmode=disable"
}

// Crash stops the server without a checkpoint, and starts it again. What was written
// survives in the kernel's cache; what was not committed does not.
func (s *Server) Crash() {
	s.t.Helper()
	s.run("pg_ctl", "stop", "-D", s.data, "-m", "immediate", "-s")
	s.start()
}

// start starts the server and waits until it takes connections.
func (s *Server) start() {
	s.t.Helper()
	s.run("pg_ctl", "start", "-w", "-s", "-t", "60", "-D", s.data, "-l", filepath.Join(s.dir, "log"), "-o", s.settings)
}

// run runs one of the server's programs.
func (s *Server) run(program string, args ...string) {
	s.t.Helper()
	if out, err := s.command(filepath.Join(s.bin, program), args...).CombinedOutput(); err != nil {
		log := readLog(s.dir) // it may say why
		s.t.Fatalf("%s: %v\n%s%s", program, err, out, log)
	}
}

func (s *Server) command(program string, args ...string) *exec.Cmd {
	c := exec.CommandContext(context.WithoutCancel(s.t.Context()), program, args...)
	c.Dir, c.Env = s.dir, append(os.Environ(), "LC_ALL=C", "HOME="+s.dir)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.account}
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
