package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPgBinComesFirst(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PG_BIN", bin)
	if got := findPostgres(); got == bin {
		t.Error("an empty folder was taken for a server's")
	}
	for _, program := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := findPostgres(); got != bin {
		t.Errorf("found %q, want PG_BIN", got)
	}
}

func TestMajorOf(t *testing.T) {
	for bin, want := range map[string]int{
		"/usr/lib/postgresql/9/bin":  9,
		"/usr/lib/postgresql/15/bin": 15,
		"/usr/lib/postgresql/x/bin":  0,
	} {
		if got := majorOf(bin); got != want {
			t.Errorf("%s: %d, want %d", bin, got, want)
		}
	}
}

func TestPostgresVersion(t *testing.T) {
	for line, want := range map[string]string{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)": "15.18",
		"postgres (PostgreSQL) 18.1":                           "18.1",
		"odd":                                                  "odd",
	} {
		if got := postgresVersion(line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
