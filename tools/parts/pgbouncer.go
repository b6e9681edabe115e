package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// pgbouncer is the program pgbouncer, which tests start before the PostgreSQL server.
type pgbouncer struct {
	program string
}

func (p *pgbouncer) name() string { return "pgbouncer" }

// find takes the program that PGBOUNCER or the PATH names, and otherwise installs
// Debian's. Without one a single test does not run.
func (p *pgbouncer) find(ctx context.Context, say logger) error {
	if p.program = findPgBouncer(); p.program != "" {
		return nil
	}
	err := errors.New("pgbouncer is not on the PATH")
	if canInstall() {
		say("installing Debian's pgbouncer")
		err = installWithoutServices(ctx, "pgbouncer")
		p.program = findPgBouncer()
	}
	if p.program != "" {
		return nil
	}
	return &dispensableError{
		instead: "nothing ran behind PgBouncer",
		env:     []string{"FSMGEN_PGBOUNCER=absent"},
		err:     fmt.Errorf("install pgbouncer, or name it by PGBOUNCER: %w", err),
	}
}

// findPgBouncer returns the program: PGBOUNCER, or the one on the PATH, or Debian's.
func findPgBouncer() string {
	for _, candidate := range []string{os.Getenv("PGBOUNCER"), "pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	return ""
}

func (p *pgbouncer) start(ctx context.Context, _ string) (*running, error) {
	text, err := output(exec.CommandContext(ctx, p.program, "--version"))
	if err != nil {
		return nil, err
	}
	line, _, _ := strings.Cut(text, "\n")
	return &running{version: strings.TrimPrefix(line, "PgBouncer "), where: "ready", env: []string{"FSMGEN_PGBOUNCER=" + p.program}}, nil
}
