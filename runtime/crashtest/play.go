package crashtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// play is a life on its way, as one process sees it.
type play struct {
	tag    string
	script script
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
	p := &play{tag: tag}
	if name := s.lives[tag]; name != "" { // else nobody follows a script
		l, err := s.group.life(name)
		if err != nil {
			return nil, fmt.Errorf("scenario %q: %w", tag, err)
		}
		p.script = l.script(tag)
	}
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

// reply is what the script says about a message: it counts those of its effect
// that came before it.
func (p *play) reply(d fsm.Dispatch) (reply, error) {
	replies := p.script.replies[d.Machine+"."+d.Effect]
	if len(replies) == 0 {
		return reply{}, nil
	}
	past, err := p.diary.past()
	if err != nil {
		return reply{}, err
	}
	earlier := map[string]bool{}
	for _, e := range past {
		if e.Entry == called && e.Machine == d.Machine && e.Effect == d.Effect && e.Version < d.Version {
			earlier[e.ID] = true
		}
	}
	return replies[min(len(earlier), len(replies)-1)], nil
}

// fails reports whether this attempt is one that fails.
func (p *play) fails(r reply, d fsm.Dispatch) (bool, error) {
	if r.broken || d.Attempt <= r.fails || !r.stuck {
		return r.broken || d.Attempt <= r.fails, nil
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
