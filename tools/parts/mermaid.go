package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// mermaid is the program that parses diagrams with Mermaid itself. The test
// that uses it starts it once for all its diagrams.
type mermaid struct {
	dir string // has package.json, package-lock.json and parse.mjs
}

func mermaidDir(root string) string {
	return filepath.Join(root, "tools", "mermaid")
}

func (m *mermaid) name() string { return "mermaid" }

// find installs the pinned packages unless those of this package-lock.json are
// there already.
func (m *mermaid) find(ctx context.Context, say logger) error {
	if err := m.findNode(ctx, say); err != nil {
		return err
	}
	lock, err := os.ReadFile(filepath.Join(m.dir, "package-lock.json"))
	if err != nil {
		return err
	}
	digest := fmt.Appendf(nil, "%x\n", sha256.Sum256(lock))
	stamp := filepath.Join(m.dir, "node_modules", ".installed")
	if have, err := os.ReadFile(stamp); err == nil && bytes.Equal(have, digest) {
		return nil
	}
	say("installing the pinned packages with npm")
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts")
	cmd.Dir = m.dir
	if err := runQuietly(cmd); err != nil {
		return err
	}
	return os.WriteFile(stamp, digest, 0o644)
}

// findNode looks for Node.js and npm, and installs Debian's where it may.
func (m *mermaid) findNode(ctx context.Context, say logger) error {
	missing := missingNode()
	if missing == "" {
		return nil
	}
	if !canInstall() {
		return fmt.Errorf("%s is not on the PATH: install Node.js 18 or later, and npm", missing)
	}
	say("installing Debian's nodejs and npm")
	if err := installPackages(ctx, "nodejs", "npm"); err != nil {
		return err
	}
	if missing := missingNode(); missing != "" {
		return fmt.Errorf("nodejs and npm were installed, yet there is no %s", missing)
	}
	return nil
}

// missingNode returns the first program that is not on the PATH.
func missingNode() string {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return program
		}
	}
	return ""
}

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
