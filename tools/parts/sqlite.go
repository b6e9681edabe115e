package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
)

// sqlite is the program sqlite3, with which people open the files that the
// engine writes. The library of the tests is another SQLite: libraries.go.
type sqlite struct {
	program string
}

func (s *sqlite) name() string { return "sqlite3" }

func (s *sqlite) find(ctx context.Context, say logger) error {
	if s.program = findSQLite(); s.program != "" {
		return nil
	}
	if !canInstall() {
		return errors.New("sqlite3 is neither named by SQLITE3 nor on the PATH: install sqlite3, version 3.40 or later")
	}
	say("installing Debian's sqlite3")
	if err := installPackages(ctx, "sqlite3"); err != nil {
		return err
	}
	if s.program = findSQLite(); s.program == "" {
		return errors.New("sqlite3 was installed, yet it is not on the PATH")
	}
	return nil
}

// findSQLite returns the program: SQLITE3, or the one on the PATH.
func findSQLite() string {
	if named := os.Getenv("SQLITE3"); named != "" && isProgram(named) {
		return named
	}
	path, err := exec.LookPath("sqlite3")
	if err != nil {
		return ""
	}
	return path
}

func (s *sqlite) start(ctx context.Context, _ string) (*running, error) {
	version, err := output(exec.CommandContext(ctx, s.program, "--version"))
	if err != nil {
		return nil, err
	}
	number, _, _ := strings.Cut(version, " ")
	return &running{version: number, where: "ready", env: []string{"FSMGEN_SQLITE3=" + s.program}}, nil
}
