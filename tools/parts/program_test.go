package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVersionsOfPrograms(t *testing.T) {
	for line, tt := range map[string]struct {
		read func(string) string
		want string
	}{
		"3.40.1 2022-12-28 14:03:47 df5c253c":                   {word(0), "3.40.1"},
		"PgBouncer 1.18.0":                                      {word(1), "1.18.0"},
		"gcc (Debian 12.2.0-14+deb12u1) 12.2.0":                 {word(-1), "12.2.0"},
		"*** Zstandard CLI (64-bit) v1.5.4, by Yann Collet ***": {zstdVersion, "1.5.4"},
		"odd": {word(3), "odd"},
	} {
		if got := tt.read(line); got != tt.want {
			t.Errorf("of %q the version is %q, want %q", line, got, tt.want)
		}
	}
}

// TestAProgramThatIsNotThere names the package and the variable, and is no failure where
// tests can go on without it.
func TestAProgramThatIsNotThere(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no apt-get either
	p := &program{called: "p", command: "no-such-program", named: "NO_SUCH_PROGRAM", packages: []string{"a", "b"}}
	err := p.find(t.Context(), t.Logf)
	var dispensable *dispensableError
	if err == nil || errors.As(err, &dispensable) || !strings.Contains(err.Error(), "install a, b, or name it by NO_SUCH_PROGRAM: there is no program no-such-program") {
		t.Errorf("the error is %v", err)
	}
	p.without, p.variable = "nothing ran", "FSMGEN_P"
	if err := p.find(t.Context(), t.Logf); !errors.As(err, &dispensable) || dispensable.instead != "nothing ran" || dispensable.env[0] != "FSMGEN_P=absent" {
		t.Errorf("without is %v", err)
	}
}

// TestTheNamedProgramComesFirst starts that which the variable names.
func TestTheNamedProgramComesFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho P 7\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("THE_PROGRAM", path)
	p := &program{called: "p", command: "sh", named: "THE_PROGRAM", version: word(1), variable: "FSMGEN_P"}
	if err := p.find(t.Context(), t.Logf); err != nil {
		t.Fatal(err)
	}
	r, err := p.start(t.Context(), "")
	if err != nil || r.version != "7" || r.env[0] != "FSMGEN_P="+path {
		t.Errorf("it runs as %+v, %v", r, err)
	}
}
