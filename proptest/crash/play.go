package crash

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/proptest/crash/scenarios"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// play is a life on its way, as one process sees it.
type play struct {
	tag    string
	script scenarios.Script
	diary  *diary
}

// playOf returns the play of a scenario. Whoever works for several scenarios
// has several.
func (s *stage[Tx]) playOf(tag string) (*play, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.plays[tag]; p != nil {
		return p, nil
	}
	p := &play{tag: tag, script: s.scripts[tag]}
	var err error
	if p.diary, err = openDiary(s.dir, tag); err != nil {
		return nil, err
	}
	s.plays[tag] = p
	return p, nil
}

// write adds to the diary.
func (p *play) write(e entry) error {
	e.Scenario = p.tag
	return p.diary.write(e)
}

func (p *play) has(kind entryKind, is func(entry) bool) (bool, error) {
	past, err := p.diary.past()
	return slices.ContainsFunc(past, func(e entry) bool { return e.Entry == kind && is(e) }), err
}

// reply is what the script says about a message.
func (p *play) reply(d fsm.Dispatch) scenarios.Reply {
	return p.script.Replies[scenarios.Asked{Machine: d.Machine, Effect: d.Effect, Version: d.Version}.String()]
}

// fails reports whether this attempt is one that fails.
func (p *play) fails(r scenarios.Reply, d fsm.Dispatch) (bool, error) {
	if r.Broken || d.Attempt <= r.Fails || !r.Stuck {
		return r.Broken || d.Attempt <= r.Fails, nil
	}
	isMended, err := p.has(mended, func(entry) bool { return true })
	return !isMended, err
}

// setClock lets the time come, and notes it.
func (s *stage[Tx]) setClock(p *play, t time.Time) error {
	if now := s.clock.Now(); t.Before(now) {
		t = now
	}
	if err := s.clock.set(t); err != nil {
		return err
	}
	return p.write(entry{Entry: clockSet, At: t})
}
