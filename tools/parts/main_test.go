package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary stand in for a runner that gets killed.
func TestMain(m *testing.M) {
	if os.Getenv("PARTS_TEST_RUNNER") != "" {
		os.Exit(runnerToKill())
	}
	os.Exit(m.Run())
}

// runnerToKill starts a server, prints its pid and waits for its end.
func runnerToKill() int {
	server, err := startDaemon(exec.Command("sleep", "300"), syscall.SIGTERM)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(server.cmd.Process.Pid)
	time.Sleep(time.Hour) // it is killed
	return 0
}

func TestFindRootFromASubfolder(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(root+"/tools/parts", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/tools/go.mod", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root + "/tools/parts")
	want, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	got, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	if got+"/tools/parts" != want {
		t.Errorf("root = %s, seen from %s", got, want)
	}
}

func TestFindRootOutsideTheRepository(t *testing.T) {
	t.Chdir(t.TempDir())
	if root, err := findRoot(); err == nil {
		t.Errorf("found a root: %s", root)
	}
}

func TestPartsRequired(t *testing.T) {
	for _, c := range []struct {
		ci, require string
		want        bool
	}{
		{"", "", false},
		{"true", "", true},
		{"false", "", false},
		{"", "1", true},
		{"", "0", false},
	} {
		t.Setenv("CI", c.ci)
		t.Setenv(requireVariable, c.require)
		if got := partsRequired(); got != c.want {
			t.Errorf("CI=%q %s=%q: required = %v", c.ci, requireVariable, c.require, got)
		}
	}
}

func TestOrphanedRunnerIsCancelled(t *testing.T) {
	parents := make(chan int, 2)
	parents <- 100 // at the start
	parents <- 1   // at the first look
	cancelled := make(chan struct{})
	go cancelWhenOrphaned(t.Context(), func() { close(cancelled) }, func() int { return <-parents })
	<-cancelled // or the runner goes on without its parent
}
