package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
)

// mermaid is the program that parses diagrams with Mermaid itself. The test
// that uses it starts it once for all its diagrams.
type mermaid struct {
	nodePackages // and parse.mjs
}

func (m *mermaid) name() string { return "mermaid" }

func (m *mermaid) start(ctx context.Context, _ string) (*running, error) {
	program := filepath.Join(m.dir, "parse.mjs")
	version, err := output(exec.CommandContext(ctx, "node", program, "--version"))
	if err != nil {
		return nil, err
	}
	parser, node, _ := strings.Cut(version, " ")
	return &running{
		version: parser,
		where:   "ready, node " + node,
		env:     []string{"FSMGEN_MERMAID=" + program},
	}, nil
}
