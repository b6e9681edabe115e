package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// workerCommand is the first argument of a child process.
const workerCommand = "worker"

// work is the child process: it carries out effects and deadlines until it gets
// SIGTERM, or until its standard input is closed, which also happens when its
// parent dies.
func work(ctx context.Context, args []string, input io.Reader) (err error) {
	const wanted = 2
	if len(args) != wanted {
		return errors.New("worker: a folder and an origin are needed")
	}
	nanos, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return fmt.Errorf("worker: origin: %w", err)
	}
	a, err := open(ctx, setting{args[0], acceleratedClock{time.Unix(0, nanos)}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, input) // ends when the pipe does
		stop()
	}()
	return a.engine.Run(ctx)
}

// child is a running worker process.
type child struct {
	command *exec.Cmd
	input   io.Closer
	ended   chan struct{} // closed when the process has ended
	how     error         // how it ended, from then on
}

// spawn starts this very program as a worker.
func spawn(s setting) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command(program, workerCommand, s.folder, strconv.FormatInt(s.clock.origin.UnixNano(), 10))
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	c := &child{command: command, input: input, ended: make(chan struct{})}
	go func() {
		c.how = command.Wait()
		close(c.ended)
	}()
	return c, nil
}

func (c *child) pid() int { return c.command.Process.Pid }

// kill ends the process at once and without notice: on Unix by SIGKILL.
func (c *child) kill() error {
	if err := c.command.Process.Kill(); err != nil {
		return fmt.Errorf("kill worker %d: %w", c.pid(), err)
	}
	if <-c.ended; c.how == nil {
		return fmt.Errorf("worker %d ended by itself before it was killed", c.pid())
	}
	return nil
}

// stop asks the process to end by itself: with SIGTERM, where there are signals.
func (c *child) stop() error {
	asked := c.command.Process.Signal(syscall.SIGTERM)
	if asked != nil {
		asked = c.input.Close()
	}
	<-c.ended
	if err := errors.Join(asked, c.how); err != nil {
		return fmt.Errorf("stop worker %d: %w", c.pid(), err)
	}
	return nil
}

// release ends the process if it has not ended.
func (c *child) release() {
	_ = c.command.Process.Kill() // fails if it has ended
	<-c.ended
}
