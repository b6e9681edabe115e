package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const runDirPrefix = "fsmgen-parts-"

// makeRunDir creates the directory of this run under parent. It removes those
// of runners that were killed: a directory's name carries its runner's pid.
func makeRunDir(parent string) (string, error) {
	stale, err := filepath.Glob(filepath.Join(parent, runDirPrefix+"*"))
	if err != nil {
		return "", err
	}
	for _, dir := range stale {
		if pid, ok := runnerOf(dir); ok && !alive(pid) {
			_ = os.RemoveAll(dir) // another user's is not ours to remove
		}
	}
	dir, err := os.MkdirTemp(parent, fmt.Sprintf("%s%d-", runDirPrefix, os.Getpid()))
	if err != nil {
		return "", err
	}
	// Servers run as other users: they pass through, but can't list it.
	return dir, os.Chmod(dir, 0o711)
}

func runnerOf(dir string) (pid int, ok bool) {
	text, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), runDirPrefix), "-")
	pid, err := strconv.Atoi(text)
	return pid, err == nil && pid > 0
}

func alive(pid int) bool {
	return syscall.Kill(pid, 0) != syscall.ESRCH
}
