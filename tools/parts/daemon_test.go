package main

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestDaemonStops(t *testing.T) {
	server, err := startDaemon(exec.Command("sleep", "300"), syscall.SIGTERM)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.stop(); err != nil {
		t.Error(err)
	}
	if alive(server.cmd.Process.Pid) {
		t.Error("it is still there")
	}
}

func TestDaemonThatEndedEarlyIsReported(t *testing.T) {
	server, err := startDaemon(exec.Command("sh", "-c", "exit 3"), syscall.SIGTERM)
	if err != nil {
		t.Fatal(err)
	}
	<-server.ended
	if err := server.stop(); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error = %v", err)
	}
}

func TestDaemonThatCannotStart(t *testing.T) {
	if _, err := startDaemon(exec.Command("no-such-program"), syscall.SIGTERM); err == nil {
		t.Error("it started")
	}
}

func TestServerThatEndsIsNotWaitedFor(t *testing.T) {
	s := server{exec.Command("sh", "-c", "echo so it is; exit 3"), t.TempDir(), syscall.SIGTERM, func(context.Context) bool { return false }}
	if _, err := s.start(t.Context()); err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "so it is") {
		t.Errorf("error = %v", err)
	}
}

func TestServerThatIsNeverReadyIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.Command("sleep", "300")
	s := server{cmd, t.TempDir(), syscall.SIGTERM, func(context.Context) bool { cancel(); return false }}
	if _, err := s.start(ctx); err == nil || !strings.Contains(err.Error(), "not ready") || alive(cmd.Process.Pid) {
		t.Errorf("error = %v", err)
	}
}
