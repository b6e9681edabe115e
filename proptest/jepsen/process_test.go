//go:build unix

package jepsen_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// span is a time during which a process could not act.
type span struct {
	Worker   string
	From, To time.Time // To is zero while it lasts; for ever after a kill
}

// ending is the end of a child process.
type ending struct {
	come chan struct{} // closed when the child has ended
	err  error         // from then on
}

// process is a place for a child process: after a kill the next one takes it.
type process struct {
	t     testing.TB
	dir   string
	order order // without Name and Journal
	title string

	mu       sync.Mutex
	starts   int
	command  *exec.Cmd
	input    io.Closer
	end      *ending
	name     string
	stopped  bool
	spans    []span
	failures []string // ends that nothing in the harness caused
}

func newProcess(t testing.TB, dir, title string, o order) *process {
	t.Helper()
	p := &process{t: t, dir: dir, order: o, title: title}
	t.Cleanup(p.kill)
	return p
}

// start starts the next child in this place.
func (p *process) start() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starts++
	p.name, p.stopped = fmt.Sprintf("%s.%d", p.title, p.starts), false
	o := p.order
	o.Name, o.Journal, o.Seed = p.name, p.journal(p.name), o.Seed+uint64(p.starts)<<48
	must(p.t, os.WriteFile(o.Journal, nil, 0o644)) // a child may be killed before it writes
	text, err := json.Marshal(o)
	must(p.t, err)
	self, err := os.Executable()
	must(p.t, err)
	p.command = exec.CommandContext(context.WithoutCancel(p.t.Context()), self)
	p.command.Env = append(os.Environ(), orderVariable+"="+string(text))
	log, err := os.Create(p.log(p.name))
	must(p.t, err)
	defer log.Close()
	p.command.Stderr = log
	p.input, err = p.command.StdinPipe()
	must(p.t, err)
	must(p.t, p.command.Start())
	command, end := p.command, &ending{come: make(chan struct{})}
	p.end = end
	go func() {
		end.err = command.Wait()
		close(end.come)
	}()
}

func (p *process) journal(name string) string { return filepath.Join(p.dir, name+".journal") }
func (p *process) log(name string) string     { return filepath.Join(p.dir, name+".log") }

// names lists every child that this place had.
func (p *process) names() (all []string) {
	for n := range p.starts {
		all = append(all, fmt.Sprintf("%s.%d", p.title, n+1))
	}
	return all
}

// kill ends the child as a crash does.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.command == nil {
		return
	}
	select {
	case <-p.end.come:
		p.failures = append(p.failures, p.unexpected())
	default:
		p.spans = append(p.spans, span{Worker: p.name, From: time.Now()})
		_ = p.command.Process.Kill() // it may end by itself at this moment
		<-p.end.come
	}
	p.command = nil
}

// stop halts the child, as a virtual machine is halted.
func (p *process) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spans = append(p.spans, span{Worker: p.name, From: time.Now()})
	p.stopped = p.command.Process.Signal(syscall.SIGSTOP) == nil
}

// resume lets a halted child go on.
func (p *process) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		return
	}
	_ = p.command.Process.Signal(syscall.SIGCONT) // it may have been killed meanwhile
	p.spans[len(p.spans)-1].To = time.Now()
	p.stopped = false
}

// finish tells the child to end, and waits for it.
func (p *process) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.command == nil {
		return
	}
	_ = p.input.Close() // its end may be closed already
	<-p.end.come
	if p.end.err != nil {
		p.failures = append(p.failures, p.unexpected())
	}
	p.command = nil
}

// unexpected describes an end that nothing in the harness caused.
func (p *process) unexpected() string {
	const most = 2000
	text, _ := os.ReadFile(p.log(p.name)) // without its log the error has to do
	if n := len(text); n > most {
		text = text[n-most:]
	}
	return fmt.Sprintf("process %s ended by itself: %v\n%s", p.name, p.end.err, text)
}

// races names the children whose race detector has found something.
func (p *process) races() (found []string) {
	for _, name := range p.names() {
		if text, err := os.ReadFile(p.log(name)); err == nil && bytes.Contains(text, []byte("DATA RACE")) {
			_, report, _ := strings.Cut(string(text), "WARNING: DATA RACE")
			found = append(found, "process "+name+" has a data race:"+report[:min(len(report), 4000)])
		}
	}
	return found
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
