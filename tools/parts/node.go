package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// nodePackages are the npm packages that the package-lock.json of a folder pins.
type nodePackages struct {
	dir string // has package.json and package-lock.json
}

// find installs the packages unless those of this package-lock.json are there already.
func (p nodePackages) find(ctx context.Context, say logger) error {
	if err := findNode(ctx, say); err != nil {
		return err
	}
	lock, err := os.ReadFile(filepath.Join(p.dir, "package-lock.json"))
	if err != nil {
		return err
	}
	digest := fmt.Appendf(nil, "%x\n", sha256.Sum256(lock))
	stamp := filepath.Join(p.dir, "node_modules", ".installed")
	if have, err := os.ReadFile(stamp); err == nil && bytes.Equal(have, digest) {
		return nil
	}
	say("installing the pinned packages of %s with npm", filepath.Base(p.dir))
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts")
	cmd.Dir = p.dir
	if err := runQuietly(cmd); err != nil {
		return err
	}
	return os.WriteFile(stamp, digest, 0o644)
}

// findNode looks for Node.js and npm, and installs Debian's where it may.
func findNode(ctx context.Context, say logger) error {
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
