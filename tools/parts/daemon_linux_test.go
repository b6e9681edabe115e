package main

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Only the Linux kernel stops the servers of a killed runner.
func TestDaemonDiesWithAKilledRunner(t *testing.T) {
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
	const most = 60_000 // ten minutes of a machine that is not busy
	for looks := 0; alive(server); time.Sleep(10 * time.Millisecond) {
		if looks++; looks > most {
			t.Fatal("the server outlived its runner")
		}
	}
}
