package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A part is a real thing that tests talk to: a server, or a program. To add
// one, write a file with a type that has these methods and list it in
// knownParts.
type part interface {
	name() string
	// find locates the part, or installs it where that is allowed. Its error
	// tells a person what to do to have the part; a dispensableError says that
	// the tests go on without it.
	find(ctx context.Context, say logger) error
	// start runs after a find without error. Everything that the part writes
	// goes into dir, which exists and is its own.
	start(ctx context.Context, dir string) (*running, error)
}

// running is a part in use.
type running struct {
	version string
	where   string       // what a person wants to know of it, like its port
	env     []string     // KEY=value for the command
	stop    func() error // nil when nothing was started
}

// A logger says what is going on when it takes a while.
type logger func(format string, args ...any)

// knownParts lists every part, in the order in which they start.
func knownParts(root string) []part {
	tools := filepath.Join(root, "tools")
	return append(programs(), &postgres{}, &mermaid{nodePackages{filepath.Join(tools, "mermaid")}}, &s3{tools: tools}, &qemu{tools: tools},
		&consul{tools: tools}, &redis{}, &ton{nodePackages{filepath.Join(tools, "ton")}})
}

// choose picks the parts that a comma-separated list names, in the order of
// known. An empty list names them all.
func choose(known []part, list string) ([]part, error) {
	if list == "" {
		return known, nil
	}
	names := strings.Split(list, ",")
	var chosen []part
	for _, p := range known {
		if slices.Contains(names, p.name()) {
			chosen = append(chosen, p)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(known, func(p part) bool { return p.name() == name }) {
			return nil, fmt.Errorf("no part is called %q; there are: %s", name, strings.Join(namesOf(known), ", "))
		}
	}
	return chosen, nil
}

func namesOf(parts []part) []string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.name()
	}
	return names
}
