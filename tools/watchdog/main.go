// Command watchdog runs a command and ends it when it hangs.
//
//	go test -timeout 0 -exec "$PWD/tools/bin/watchdog" ./...
//
// A test binary that has hardly used the processor for ten minutes, neither itself nor
// in processes below it, gets SIGQUIT: it prints where each of its goroutines waits, and
// fails. One that hangs while something in it goes on polling is left to its own waits.
// So a test that works may take as long as it does on a machine that is slow or
// busy. Input, output and exit code are those of the command. Without /proc nothing is
// watched.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/fsmgen/fsmgen/tools/internal/hung"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

// run returns the command's exit code, or 125 when it can't be run.
func run(command []string) int {
	const notRun = 125
	if len(command) == 0 {
		fmt.Fprintln(os.Stderr, "usage: watchdog COMMAND [ARGUMENT...]")
		return notRun
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT) // of go test, when a -timeout is over
	defer signal.Stop(quit)
	if err := cmd.Start(); err != nil {
		say(err.Error())
		return notRun
	}
	go func() {
		for s := range quit {
			_ = cmd.Process.Signal(s) // it may just have ended
		}
	}()
	err := hung.Wait(cmd, func() {}, say)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		say(err.Error())
		return notRun
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

func say(line string) { fmt.Fprintln(os.Stderr, "watchdog:", line) }
