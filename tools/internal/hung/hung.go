// Package hung waits for commands and ends those that have stopped working. A
// command works while it, or a process below it, uses the processor. How long it
// may rest is counted in looks, one a second: a busy machine gives it less of the
// processor and takes longer for a look.
package hung

import (
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

const (
	pause    = time.Second
	enough   = 5 * clockTicks // of the processor, five seconds: that is work, and not only polling
	patience = 600            // looks without work until a command is hung
	last     = 60             // looks until one that was told to end is killed
)

// Wait waits for a command that was started, as its Wait does. One that is hung gets
// SIGQUIT, at which a Go program says where each goroutine is, and is killed if that
// does not end it; say gets a line about each. work is called each time that the
// command has used another five seconds of the processor.
func Wait(cmd *exec.Cmd, work func(), say func(string)) error {
	look := time.NewTicker(pause) // a tick that comes too late counts once
	defer look.Stop()
	used := func() (uint64, error) { return processor("/proc", cmd.Process.Pid) }
	return wait(cmd, look.C, used, work, say)
}

func wait(cmd *exec.Cmd, look <-chan time.Time, used func() (uint64, error), work func(), say func(string)) error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for w := (watch{}); ; {
		select {
		case err := <-ended:
			return err
		case <-look:
		}
		ticks, err := used()
		if err != nil {
			continue // it has just ended, or the system has no /proc
		}
		switch w.look(ticks) {
		case working:
			work()
		case resting:
		case mustEnd:
			say(fmt.Sprintf("%s has used less than five seconds of the processor in %d looks, one a second: it hangs, and gets SIGQUIT", cmd.Path, patience))
			_ = cmd.Process.Signal(syscall.SIGQUIT) // it may just have ended
		case mustDie:
			say(cmd.Path + " goes on after SIGQUIT, and is killed")
			_ = cmd.Process.Kill()
		}
	}
}

// verdict is what a look says about a command.
type verdict int

const (
	working verdict = iota
	resting
	mustEnd
	mustDie
)

// watch counts the looks since a command worked.
type watch struct {
	used  uint64 // of the processor, when it last had worked
	looks int
}

func (w *watch) look(used uint64) verdict {
	// It is less when a process that another one adopted leaves the tree.
	if max(used, w.used)-min(used, w.used) >= enough && w.looks < patience {
		w.used, w.looks = used, 0
		return working
	}
	w.looks++
	switch w.looks {
	case patience:
		return mustEnd
	case patience + last:
		return mustDie
	default:
		return resting
	}
}
