package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestRunDirRemovesThoseOfDeadRunners(t *testing.T) {
	parent := t.TempDir()
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	dead := filepath.Join(parent, fmt.Sprintf("%s%d-1", runDirPrefix, ended.Process.Pid))
	living := filepath.Join(parent, fmt.Sprintf("%s%d-1", runDirPrefix, os.Getppid()))
	other := filepath.Join(parent, runDirPrefix+"notes")
	for _, dir := range []string{dead, living, other} {
		if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := makeRunDir(parent); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{dead: false, living: true, other: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: there is %v, want %v", dir, err == nil, want)
		}
	}
}
