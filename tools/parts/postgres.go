package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// postgres is a PostgreSQL server with an empty cluster of its own.
type postgres struct {
	bin string // the folder of initdb and postgres
}

func (p *postgres) name() string { return "postgres" }

func (p *postgres) find(ctx context.Context, say logger) error {
	if p.bin = findPostgres(); p.bin != "" {
		return nil
	}
	if !canInstall() {
		return errors.New("initdb is neither in PG_BIN, on the PATH, nor in /usr/lib/postgresql/*/bin: install postgresql, or set PG_BIN")
	}
	say("installing Debian's postgresql")
	if err := installPostgres(ctx); err != nil {
		return err
	}
	if p.bin = findPostgres(); p.bin == "" {
		return errors.New("postgresql was installed, yet there is no initdb")
	}
	return nil
}

// findPostgres returns the folder of the first server found: PG_BIN, then the
// PATH, then Debian's newest.
func findPostgres() string {
	candidates := []string{os.Getenv("PG_BIN")}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		candidates = append(candidates, filepath.Dir(initdb))
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is well formed
	slices.SortFunc(debian, func(a, b string) int { return majorOf(b) - majorOf(a) })
	for _, bin := range append(candidates, debian...) {
		if bin != "" && isProgram(filepath.Join(bin, "initdb")) && isProgram(filepath.Join(bin, "postgres")) {
			return bin
		}
	}
	return ""
}

// majorOf reads 15 from /usr/lib/postgresql/15/bin.
func majorOf(bin string) int {
	major, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin))) // 0 sorts last
	return major
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// installPostgres installs the server without the cluster that the package
// would otherwise create and start.
func installPostgres(ctx context.Context) error {
	const dir = "/etc/postgresql-common/createcluster.d"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "fsmgen.conf"), []byte("create_main_cluster = false\n"), 0o644); err != nil {
		return err
	}
	return installPackages(ctx, "postgresql")
}

func (p *postgres) start(ctx context.Context, dir string) (*running, error) {
	account, err := serverAccount(dir)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	initdb := account.command(ctx, dir, filepath.Join(p.bin, "initdb"),
		"-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
	if err := runQuietly(initdb); err != nil {
		return nil, err
	}
	version, err := output(exec.CommandContext(ctx, filepath.Join(p.bin, "postgres"), "--version"))
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	server, err := p.serve(ctx, account, dir, data, port)
	if err != nil {
		return nil, err
	}
	return &running{
		version: postgresVersion(version),
		where:   fmt.Sprintf("started, 127.0.0.1:%d", port),
		env:     []string{fmt.Sprintf("FSMGEN_POSTGRES_DSN=postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)},
		stop:    server.stop,
	}, nil
}

// serve starts the server and waits until it takes connections.
func (p *postgres) serve(ctx context.Context, account account, dir, data string, port int) (*daemon, error) {
	cmd := account.command(context.WithoutCancel(ctx), dir, filepath.Join(p.bin, "postgres"), "-D", data)
	for _, setting := range []string{
		"listen_addresses=127.0.0.1",
		"port=" + strconv.Itoa(port),
		"unix_socket_directories=" + dir,
		"max_connections=200",
		// An immediate stop, which is how tests crash it, must not lose a commit.
		"synchronous_commit=on",
		// What was written survives the server in the kernel's cache. Only a
		// crash of the machine would lose it, and with it this whole cluster.
		"fsync=off",
	} {
		cmd.Args = append(cmd.Args, "-c", setting)
	}
	isReady := func(context.Context) bool { return saysReady(filepath.Join(data, "postmaster.pid")) }
	return server{cmd, dir, syscall.SIGQUIT, isReady}.start(ctx) // the signal of "pg_ctl stop -m immediate"
}

// saysReady reports whether there is the word that pg_ctl waits for: the eighth
// line of postmaster.pid.
func saysReady(path string) bool {
	file, _ := os.ReadFile(path) // not there yet reads as not ready
	lines := strings.Split(string(file), "\n")
	return len(lines) > 7 && strings.TrimSpace(lines[7]) == "ready"
}

// postgresVersion reads 15.18 from "postgres (PostgreSQL) 15.18 (Debian ...)".
func postgresVersion(line string) string {
	if words := strings.Fields(line); len(words) > 2 {
		return words[2]
	}
	return line
}
