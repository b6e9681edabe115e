package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// program is a part that is a program of Debian. Tests start it themselves.
type program struct {
	called   string // the part
	command  string // its name on the PATH
	named    string // the variable that names another
	packages []string
	// version reads the version from the first line of what --version prints.
	version func(line string) string
	// variable tells the tests where the program is. Empty: they find it on the PATH.
	variable string
	// without says what is left out where the program can't be had. Empty: its absence is
	// a failure.
	without string

	path string
}

// programs are the parts that are programs.
func programs() []part {
	return []part{
		// With which people open the files that the engine writes. The library of the tests is
		// another SQLite: libraries.go.
		&program{called: "sqlite3", command: "sqlite3", named: "SQLITE3", packages: []string{"sqlite3"}, version: word(0), variable: "FSMGEN_SQLITE3"},
		&program{called: "pgbouncer", command: "pgbouncer", named: "PGBOUNCER", packages: []string{"pgbouncer"}, version: word(1), variable: "FSMGEN_PGBOUNCER",
			without: "nothing ran behind PgBouncer"},
		// tar calls it.
		&program{called: "zstd", command: "zstd", packages: []string{"zstd"}, version: zstdVersion},
		// The race detector needs cgo.
		&program{called: "cc", command: "gcc", named: "CC", packages: []string{"gcc", "libc6-dev"}, version: word(-1),
			without: "the tests ran without the race detector"},
	}
}

func (p *program) name() string { return p.called }

func (p *program) find(ctx context.Context, say logger) error {
	if p.look() {
		return nil
	}
	err := errors.New("there is no program " + p.command)
	if canInstall() {
		say("installing Debian's %s", strings.Join(p.packages, ", "))
		err = installPackages(ctx, p.packages...)
	}
	if p.look() {
		return nil
	}
	how := "install " + strings.Join(p.packages, ", ")
	if p.named != "" {
		how += ", or name it by " + p.named
	}
	if err = fmt.Errorf("%s: %w", how, err); p.without == "" {
		return err
	}
	absent := &dispensableError{instead: p.without, err: err}
	if p.variable != "" {
		absent.env = []string{p.variable + "=absent"}
	}
	return absent
}

// look finds the program: the one that the variable names, the one on the PATH, or one
// in a folder that the PATH often lacks. It reports whether there is one.
func (p *program) look() bool {
	candidates := []string{p.command, "/usr/sbin/" + p.command}
	if p.named != "" && os.Getenv(p.named) != "" {
		candidates = append([]string{os.Getenv(p.named)}, candidates...)
	}
	for _, candidate := range candidates {
		if path, err := exec.LookPath(candidate); err == nil {
			p.path = path
			return true
		}
	}
	return false
}

func (p *program) start(ctx context.Context, _ string) (*running, error) {
	text, err := output(exec.CommandContext(ctx, p.path, "--version"))
	if err != nil {
		return nil, err
	}
	line, _, _ := strings.Cut(text, "\n")
	r := &running{version: p.version(line), where: "ready"}
	if p.variable != "" {
		r.env = []string{p.variable + "=" + p.path}
	}
	return r, nil
}

// word is a word of the line, from the end where n is negative.
func word(n int) func(line string) string {
	return func(line string) string {
		words := strings.Fields(line)
		at := n
		if n < 0 {
			at += len(words)
		}
		if at < 0 || at >= len(words) {
			return line
		}
		return words[at]
	}
}

// zstdVersion reads 1.5.4 from "*** Zstandard CLI (64-bit) v1.5.4, by Yann Collet ***".
func zstdVersion(line string) string {
	_, rest, _ := strings.Cut(line, " v")
	version, _, _ := strings.Cut(rest, ",")
	return version
}
