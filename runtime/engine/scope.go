package engine

import (
	"context"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// scope is a transaction of the engine's own, with what it leaves to be done
// once it is committed.
type scope[Tx any] struct {
	engine *Engine[Tx]
	tx     Tx
	grips  []grip[Tx]
	loud   bool // it leaves something for a worker to look for
}

// within runs f in a transaction, and hands over what it leaves.
func (e *Engine[Tx]) within(ctx context.Context, f func(*scope[Tx]) error) error {
	s := &scope[Tx]{engine: e}
	committed := false
	defer func() { s.end(committed) }() // also when f panics
	err := e.store.InTx(ctx, func(tx Tx) error {
		s.tx = tx
		return f(s)
	})
	committed = err == nil
	return err
}

// end begins what the transaction has left in the hands of workers, or gives
// the hands back.
func (s *scope[Tx]) end(committed bool) {
	for _, g := range s.grips {
		if committed {
			g.begin()
		} else {
			g.drop()
		}
	}
	if committed && s.loud {
		s.engine.crew.wake()
	}
}

// write carries out plans. The transaction ends with them where last says so.
func (s *scope[Tx]) write(ctx context.Context, last bool, plans ...plan[Tx]) error {
	s.grips = append(s.grips, s.engine.grasp(plans))
	for i := range plans {
		p := &plans[i]
		for j := range p.commits {
			p.commits[j].Quiet = !p.leaves(&p.commits[j])
		}
		s.loud = s.loud || p.loud()
	}
	return s.engine.write(ctx, s.tx, last, plans...)
}

// letGo puts back what the transaction has in hand of a record, before another
// event of it: the work of a state that is left never begins.
func (s *scope[Tx]) letGo(ctx context.Context, at place) error {
	for i := range s.grips {
		g := &s.grips[i]
		kept := g.tasks[:0:0]
		for _, t := range g.tasks {
			if t.Effect.Machine != at.machine || t.Effect.RecordID != at.id {
				kept = append(kept, t)
				continue
			}
			back := Settlement{
				Kind: TaskEffect, Token: t.Token, MessageID: t.Effect.MessageID, Letter: t.Effect.Letter, Machine: at.machine, RecordID: at.id,
			}
			if err := s.engine.store.Settle(ctx, s.tx, back); err != nil {
				return err
			}
			g.worker.release(1)
			s.loud = true
		}
		g.tasks = kept
	}
	return nil
}

// Unit is a transaction that the engine commits, for events that belong together
// with each other or with the caller's own writes.
type Unit[Tx any] struct {
	Tx       Tx
	scope    *scope[Tx]
	outcomes []Outcome
	written  map[place]Row // records as the unit has left them
	failed   error         // what could not be written
}

// place is where a record is.
type place struct{ machine, id string }

// Transact runs f in one transaction, once, and commits when f returns nil. It is
// FireTx for who has no transaction yet: the engine knows when it is committed,
// and so begins at once what the events ask for. Within f the records of the unit
// are changed through it alone. The error of f is returned as it is; else that of an
// event which could not be written, or what a commit can fail with, as of Fire.
func (e *Engine[Tx]) Transact(ctx context.Context, f func(*Unit[Tx]) error) error {
	if err := checkNested(ctx); err != nil {
		return err
	}
	var u *Unit[Tx]
	err := e.within(ctx, func(s *scope[Tx]) error {
		u = &Unit[Tx]{Tx: s.tx, scope: s, written: map[place]Row{}}
		if err := f(u); err != nil {
			return err
		}
		return u.failed
	})
	if err == nil {
		e.Committed(ctx, u.outcomes...)
	}
	return err
}

// Create makes a record within the unit. After an error that is not a
// *fsm.Rejection f is to return it.
func (u *Unit[Tx]) Create(ctx context.Context, machine, id string, event fsm.Payload, call Call) (Outcome, error) {
	return u.fire(ctx, Firing{Machine: machine, ID: id, Event: event, Call: call, Create: true})
}

// Fire applies an event to a record within the unit. After an error that is not a
// *fsm.Rejection f is to return it.
func (u *Unit[Tx]) Fire(ctx context.Context, machine, id string, event fsm.Payload, call Call) (Outcome, error) {
	return u.fire(ctx, Firing{Machine: machine, ID: id, Event: event, Call: call})
}

func (u *Unit[Tx]) fire(ctx context.Context, f Firing) (o Outcome, err error) {
	e := u.scope.engine
	r, err := e.request(f)
	if err != nil {
		return Outcome{}, describe(f, err)
	}
	ctx, end := e.config.Trace(ctx, r.operation())
	defer func() { end(err) }()
	if o, err = u.apply(ctx, r); err != nil {
		e.countRefusal(r, err)
		return Outcome{}, describe(f, err)
	}
	u.outcomes = append(u.outcomes, o)
	return o, nil
}

func (u *Unit[Tx]) apply(ctx context.Context, r request[Tx]) (Outcome, error) {
	e, at := u.scope.engine, place{r.machine.Name(), r.id}
	if err := u.scope.letGo(ctx, at); err != nil {
		return Outcome{}, err
	}
	row, known := u.written[at]
	if !known || len(r.keys(row.Record)) > 0 || r.create {
		rows, err := e.load(ctx, u.Tx, r)
		if err != nil {
			return Outcome{}, err
		}
		row = rows[0]
	}
	p, err := e.decide(r, row)
	if err != nil {
		return Outcome{}, err
	}
	if err := u.scope.write(ctx, false, p); err != nil {
		u.failed = err
		return Outcome{}, err
	}
	delete(u.written, at)
	if after, known := p.after(0); known {
		u.written[at] = after
	}
	return p.outcome, nil
}
