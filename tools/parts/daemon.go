package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// daemonStart bounds the wait for a server on a busy machine.
const daemonStart = 60 * time.Second

// daemonGrace is how long a server may take to stop before it is killed.
const daemonGrace = 10 * time.Second

// A daemon is a server that the runner started. The kernel stops it when the
// runner dies, however that happens.
type daemon struct {
	cmd    *exec.Cmd
	signal syscall.Signal // stops it
	ended  chan struct{}  // closed when it has ended
	err    error          // how, once ended is closed
}

// A server is what makes a daemon of a command.
type server struct {
	cmd     *exec.Cmd // whose context must not end it: stop does, after the tests
	dir     string    // where its output goes, to the file log
	signal  syscall.Signal
	isReady func(context.Context) bool
}

// start starts the server and waits until it is ready.
func (s server) start(ctx context.Context) (*daemon, error) {
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	d, err := startDaemon(s.cmd, s.signal)
	if err != nil {
		return nil, err
	}
	if err := d.await(ctx, s.isReady); err != nil {
		written, _ := os.ReadFile(log.Name())
		return nil, errors.Join(fmt.Errorf("%w%s", err, lastLines(string(written), 12)), d.stop())
	}
	return d, nil
}

// await asks again and again whether the server is ready.
func (d *daemon) await(ctx context.Context, isReady func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, daemonStart)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server was not ready: %w", ctx.Err())
		case <-d.ended:
			return fmt.Errorf("the server ended at once: %v", d.cmd.ProcessState)
		case <-tick.C:
		}
		if isReady(ctx) {
			return nil
		}
	}
}

// startDaemon starts a server that stop ends with the given signal. It gets a
// process group of its own: an interrupt typed at the terminal must not reach
// it before the tests have ended.
func startDaemon(cmd *exec.Cmd, signal syscall.Signal) (*daemon, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	dieWithParent(cmd.SysProcAttr, signal)

	d := &daemon{cmd: cmd, signal: signal, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// "Parent" is the thread that forked, so it has to stay as long as the server.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			d.err = cmd.Wait()
			close(d.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return d, nil
}

// stop ends the server. It is an error if it had ended before.
func (d *daemon) stop() error {
	select {
	case <-d.ended:
		return fmt.Errorf("ended before it was stopped: %v", d.cmd.ProcessState)
	default:
	}
	if err := d.cmd.Process.Signal(d.signal); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	select {
	case <-d.ended:
		return nil
	case <-time.After(daemonGrace):
		_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
		<-d.ended
		return fmt.Errorf("did not stop within %s and was killed", daemonGrace)
	}
}

// freePort asks the kernel for a port that nothing on loopback uses.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
