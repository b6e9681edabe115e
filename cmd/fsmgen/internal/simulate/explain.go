package simulate

import (
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// verdict says whether an event is legal now, and for whom.
type verdict struct {
	interp.Verdict
	by []*ir.Actor // for whom it is legal; nil where the machine knows no actors
}

// legal lists the events that a caller may fire now.
func (s *Session) legal(actor *interp.Actor) []verdict {
	var out []verdict
	for _, v := range s.explain(actor) {
		if v.Legal {
			out = append(out, v)
		}
	}
	return out
}

// explain judges every event: for the actor, or for whoever may fire it.
func (s *Session) explain(actor *interp.Actor) []verdict {
	if actor != nil {
		return s.explainFor(*actor)
	}
	candidates := []interp.Actor{{}}
	if len(s.machine.Actors) > 0 {
		candidates = []interp.Actor{interp.System()}
		for _, role := range s.machine.Actors {
			candidates = append(candidates, s.party(role))
		}
	}
	best := s.explainFor(candidates[0])
	for _, candidate := range candidates[1:] {
		for i, v := range s.explainFor(candidate) {
			best[i] = better(best[i], v)
		}
	}
	return best
}

func (s *Session) explainFor(actor interp.Actor) []verdict {
	var out []verdict
	for _, v := range interp.Explain(s.machine, s.record, interp.Input{Actor: actor, Now: s.now, Params: s.params}) {
		verdict := verdict{Verdict: v}
		if v.Legal && actor.Role != nil {
			verdict.by = []*ir.Actor{actor.Role}
		}
		out = append(out, verdict)
	}
	return out
}

// better joins two verdicts on one event: legal beats refused, and a guard
// that fails says more than a role that may not.
func better(a, b verdict) verdict {
	switch {
	case a.Legal && b.Legal:
		a.by = append(a.by, b.by...)
		return a
	case b.Legal, !a.Legal && a.Why.Reason == interp.NotAllowed:
		return b
	}
	return a
}

func (s *Session) doEvents(words []string, reply *Reply) error {
	_, as := cutActor(words)
	actor, err := s.chosen(as)
	if err != nil {
		return err
	}
	reply.verdicts = s.explain(actor)
	return nil
}

func (s *Session) doWhy(words []string, reply *Reply) error {
	words, as := cutActor(words)
	ev, err := s.event(words)
	if err != nil {
		return err
	}
	actor, err := s.chosen(as)
	if err != nil {
		return err
	}
	for _, v := range s.explain(actor) {
		if v.Event == ev {
			reply.verdicts = append(reply.verdicts, v)
		}
	}
	return nil
}

// chosen is the actor named in the command or set before; nil: any.
func (s *Session) chosen(as string) (*interp.Actor, error) {
	if as == "" {
		return s.actor, nil
	}
	actor, err := s.parseActor(as)
	return &actor, err
}
