package crash

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/proptest/crash/scenarios"
	"github.com/fsmgen/fsmgen/proptest/facts"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// scriptedMachine is a generated machine whose handlers do what the script says, pass
// points, and write to the event log what they did. That entry is the effect.
type scriptedMachine[Tx any] struct {
	engine.Machine[any]
	process *workerProcess[Tx]
}

// errScripted is a failure that the script asks for.
var errScripted = errors.New("the script lets this attempt fail")

// HandleTx leaves a trace in the transaction.
func (m scriptedMachine[Tx]) HandleTx(ctx context.Context, tx Tx, d fsm.Dispatch) error {
	before, err := m.reach(TxCallBefore, d, InTx)
	if err != nil {
		return err
	}
	err = m.process.database.Exec(ctx, tx, facts.LeaveTrace(d, ""))
	if err != nil {
		return store.Failed("leave a trace", err)
	}
	after, err := m.reach(TxCallAfter, d, InTx)
	if err != nil {
		return err
	}
	return m.pass(d, InTx, before, after)
}

// Handle logs the effect and answers.
func (m scriptedMachine[Tx]) Handle(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
	kind := m.kindOf(ctx, d)
	before, err := m.reach(HandlerBefore, d, kind)
	if err != nil {
		return nil, err
	}
	r, err := m.work(ctx, d)
	if err != nil {
		return nil, err
	}
	after, err := m.reach(HandlerAfter, d, kind)
	if err != nil {
		return nil, err
	}
	if err := m.pass(d, kind, before, after); err != nil {
		return nil, err
	}
	return r.Answer, nil
}

// work does what the script says about a message.
func (m scriptedMachine[Tx]) work(ctx context.Context, d fsm.Dispatch) (r scenarios.Reply, err error) {
	p, err := m.process.runOf(d.Correlation)
	if err != nil {
		return r, err
	}
	r = p.reply(d)
	if err := m.note(ctx, p, called, d); err != nil {
		return r, err
	}
	if fails, err := p.fails(r, d); fails || err != nil {
		return r, cmp.Or(err, errScripted)
	}
	if r.Meanwhile > 0 {
		if err := m.process.meanwhile(ctx, p, r.Meanwhile); err != nil {
			return r, err
		}
	}
	return r, m.note(ctx, p, done, d)
}

// note logs what a handler does. For work it also logs the state of its record, as
// another connection sees it.
func (m scriptedMachine[Tx]) note(ctx context.Context, p *run, kind entryKind, d fsm.Dispatch) error {
	e := dispatched(kind, d)
	t := m.Tables()
	if m.info(d.Effect).Work {
		err := m.process.sql.QueryRowContext(ctx, fmt.Sprintf(
			`SELECT r.version, CAST(o.cancelled AS text) IN ('1', 'true') FROM "%s" AS r, fsm_outbox AS o WHERE r."%s" = '%s' AND o.message_id = '%s'`,
			t.Record, t.ID, d.Record, d.ID)).Scan(&e.Seen, &e.Cancelled)
		if err != nil {
			return fmt.Errorf("look at %s %s: %w", d.Machine, d.Record, err)
		}
	}
	return p.write(e)
}

// Query looks into the event log, which stands for the outside world.
func (m scriptedMachine[Tx]) Query(_ context.Context, d fsm.Dispatch) (*fsm.Event, bool, error) {
	before, err := m.reach(QueryBefore, d, Queryable)
	if err != nil {
		return nil, false, err
	}
	p, err := m.process.runOf(d.Correlation)
	if err != nil {
		return nil, false, err
	}
	if err := p.write(dispatched(asked, d)); err != nil {
		return nil, false, err
	}
	happened, err := p.has(done, func(e entry) bool { return e.ID == d.ID })
	if err != nil {
		return nil, false, err
	}
	after, err := m.reach(QueryAfter, d, Queryable)
	if err == nil {
		err = m.pass(d, Queryable, before, after)
	}
	if err != nil || !happened {
		return nil, false, err
	}
	return p.reply(d).Answer, true, nil
}

// kindOf distinguishes deliveries from the cleanups before a repeat.
func (m scriptedMachine[Tx]) kindOf(ctx context.Context, d fsm.Dispatch) Kind {
	if isCleanup(m.Effects(), d.Effect) && !m.process.isMessage(ctx, d) {
		return Cleanup
	}
	return Kind(m.info(d.Effect).Delivery)
}

func (m scriptedMachine[Tx]) info(effect string) fsm.EffectInfo {
	for _, info := range m.Effects() {
		if info.Name == effect {
			return info
		}
	}
	return fsm.EffectInfo{}
}

func isCleanup(effects []fsm.EffectInfo, name string) bool {
	for _, info := range effects {
		if info.Cleanup == name {
			return true
		}
	}
	return false
}

// reach hits a point, and returns which hit of it that was.
func (m scriptedMachine[Tx]) reach(p Point, d fsm.Dispatch, k Kind) (Hit, error) {
	n := m.process.failpoints.hit(p)
	return Hit{p, n}, m.process.failpoints.shared.reach(p, subject{d.Machine, k, d.Effect})
}

func (m scriptedMachine[Tx]) pass(d fsm.Dispatch, k Kind, points ...Hit) (err error) {
	for _, p := range points {
		err = errors.Join(err, m.process.failpoints.pass(p.Point, p.N, subject{d.Machine, k, d.Effect}))
	}
	return err
}
