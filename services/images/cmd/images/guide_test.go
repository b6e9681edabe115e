package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGuideRuns runs the first commands of docs/images.md, word for word, but for
// the one that builds: this test is built already.
func TestGuideRuns(t *testing.T) {
	guide, err := os.ReadFile("../../../../docs/images.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(guide), "## Try it\n")
	_, rest, _ = strings.Cut(rest, "```\n")
	commands, _, found := strings.Cut(rest, "```\n")
	build, commands, _ := strings.Cut(commands, "\n")
	if !found || build != "go build -o tools/bin/images ./services/images/cmd/images" {
		t.Fatalf("the guide begins with %q", build)
	}
	program, err := exec.LookPath("images")
	dir := t.TempDir()
	bin := filepath.Join(dir, "tools", "bin")
	if err := errors.Join(err, os.MkdirAll(bin, 0o755), os.Symlink(program, filepath.Join(bin, "images"))); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh", "-e", "-c", commands)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), "hello-tar-"); !strings.Contains(string(out), " COMPLETE") || n < 4 {
		t.Errorf("it said\n%s", out)
	}
}
