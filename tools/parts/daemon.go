package main

import (
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

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
