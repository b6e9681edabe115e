package crash

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/proptest/crash/scenarios"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// run is a run of a scenario, as one process sees it.
type run struct {
	tag    string
	script scenarios.Script
	log    *eventLog
}

// runOf returns the run with a tag. A process that works for several runs has several.
func (w *workerProcess[Tx]) runOf(tag string) (*run, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.runs[tag]; p != nil {
		return p, nil
	}
	p := &run{tag: tag, script: w.scripts[tag]}
	var err error
	if p.log, err = openEventLog(w.dir, tag); err != nil {
		return nil, err
	}
	w.runs[tag] = p
	return p, nil
}

// write adds an entry to the event log.
func (p *run) write(e entry) error {
	e.Scenario = p.tag
	return p.log.write(e)
}

func (p *run) has(kind entryKind, is func(entry) bool) (bool, error) {
	past, err := p.log.past()
	return slices.ContainsFunc(past, func(e entry) bool { return e.Entry == kind && is(e) }), err
}

// reply returns what the script says about a message.
func (p *run) reply(d fsm.Dispatch) scenarios.Reply {
	return p.script.Replies[scenarios.Asked{Machine: d.Machine, Effect: d.Effect, Version: d.Version}.String()]
}

// fails reports whether this attempt fails.
func (p *run) fails(r scenarios.Reply, d fsm.Dispatch) (bool, error) {
	if r.Broken || d.Attempt <= r.Fails || !r.Stuck {
		return r.Broken || d.Attempt <= r.Fails, nil
	}
	isMended, err := p.has(repaired, func(entry) bool { return true })
	return !isMended, err
}

// setClock sets the clock, never back, and logs it.
func (w *workerProcess[Tx]) setClock(p *run, t time.Time) error {
	if now := w.clock.Now(); t.Before(now) {
		t = now
	}
	if err := w.clock.set(t); err != nil {
		return err
	}
	return p.write(entry{Entry: clockSet, At: t})
}
