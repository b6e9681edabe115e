package main

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
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

func TestDaemonDiesWithAKilledRunner(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only the Linux kernel stops the servers of a killed runner")
	}
	runner := exec.Command(os.Args[0])
	runner.Env = append(os.Environ(), "PARTS_TEST_RUNNER=1")
	out, err := runner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	server, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if !alive(server) {
		t.Fatal("the server was not started")
	}
	if err := runner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := runner.Wait(); err == nil {
		t.Error("the runner was not killed")
	}
	for deadline := time.Now().Add(10 * time.Second); alive(server); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the server outlived its runner")
		}
	}
}
