package crash

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/proptest/crash/scenarios"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// witness is a real machine whose handlers do what the script says, pass points
// on the way, and note in the diary what they did: that note is the change of
// the world.
type witness[Tx any] struct {
	engine.Machine[any]
	stage *stage[Tx]
}

// errScripted is a failure that the script wants.
var errScripted = errors.New("the script lets this attempt fail")

// HandleTx leaves a row behind, in the transaction.
func (w witness[Tx]) HandleTx(ctx context.Context, tx Tx, d fsm.Dispatch) error {
	before, err := w.reach(TxCallBefore, d, InTx)
	if err != nil {
		return err
	}
	err = w.stage.database.Exec(ctx, tx, fmt.Sprintf(
		"INSERT INTO crash_markers (scenario, machine, record_id, version, effect, message_id) VALUES ('%s', '%s', '%s', %d, '%s', '%s')",
		d.Correlation, d.Machine, d.Record, d.Version, d.Effect, d.ID))
	if err != nil {
		return store.Failed("leave a marker", err)
	}
	after, err := w.reach(TxCallAfter, d, InTx)
	if err != nil {
		return err
	}
	return w.pass(d, InTx, before, after)
}

// Handle changes the world and answers.
func (w witness[Tx]) Handle(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
	kind := w.kindOf(ctx, d)
	before, err := w.reach(HandlerBefore, d, kind)
	if err != nil {
		return nil, err
	}
	r, err := w.work(ctx, d)
	if err != nil {
		return nil, err
	}
	after, err := w.reach(HandlerAfter, d, kind)
	if err != nil {
		return nil, err
	}
	if err := w.pass(d, kind, before, after); err != nil {
		return nil, err
	}
	return r.Answer, nil
}

// work does what the script says about a message.
func (w witness[Tx]) work(ctx context.Context, d fsm.Dispatch) (r scenarios.Reply, err error) {
	p, err := w.stage.playOf(d.Correlation)
	if err != nil {
		return r, err
	}
	r = p.reply(d)
	if err := w.note(ctx, p, called, d); err != nil {
		return r, err
	}
	if fails, err := p.fails(r, d); fails || err != nil {
		return r, cmp.Or(err, errScripted)
	}
	if r.Meanwhile > 0 {
		if err := w.stage.meanwhile(ctx, p, r.Meanwhile); err != nil {
			return r, err
		}
	}
	return r, w.note(ctx, p, done, d)
}

// note writes what a handler does. Of work it notes besides how its record
// stands, as another connection sees it.
func (w witness[Tx]) note(ctx context.Context, p *play, kind entryKind, d fsm.Dispatch) error {
	e := dispatched(kind, d)
	t := w.Tables()
	if w.info(d.Effect).Work {
		err := w.stage.sql.QueryRowContext(ctx, fmt.Sprintf(
			`SELECT r.version, CAST(o.cancelled AS text) IN ('1', 'true') FROM "%s" AS r, fsm_outbox AS o WHERE r."%s" = '%s' AND o.message_id = '%s'`,
			t.Record, t.ID, d.Record, d.ID)).Scan(&e.Seen, &e.Cancelled)
		if err != nil {
			return fmt.Errorf("look at %s %s: %w", d.Machine, d.Record, err)
		}
	}
	return p.write(e)
}

// Query looks into the diary, which stands for the world.
func (w witness[Tx]) Query(_ context.Context, d fsm.Dispatch) (*fsm.Event, bool, error) {
	before, err := w.reach(QueryBefore, d, Queryable)
	if err != nil {
		return nil, false, err
	}
	p, err := w.stage.playOf(d.Correlation)
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
	after, err := w.reach(QueryAfter, d, Queryable)
	if err == nil {
		err = w.pass(d, Queryable, before, after)
	}
	if err != nil || !happened {
		return nil, false, err
	}
	return p.reply(d).Answer, true, nil
}

// kindOf tells deliveries from the cleanups that go before a repeat.
func (w witness[Tx]) kindOf(ctx context.Context, d fsm.Dispatch) Kind {
	if isCleanup(w.Effects(), d.Effect) && !w.stage.isMessage(ctx, d) {
		return Cleanup
	}
	return Kind(w.info(d.Effect).Delivery)
}

func (w witness[Tx]) info(effect string) fsm.EffectInfo {
	for _, info := range w.Effects() {
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
func (w witness[Tx]) reach(p Point, d fsm.Dispatch, k Kind) (Cut, error) {
	n := w.stage.cutter.hit(p)
	return Cut{p, n}, w.stage.cutter.trap.reach(p, subject{d.Machine, k, d.Effect})
}

func (w witness[Tx]) pass(d fsm.Dispatch, k Kind, points ...Cut) (err error) {
	for _, p := range points {
		err = errors.Join(err, w.stage.cutter.pass(p.Point, p.N, subject{d.Machine, k, d.Effect}))
	}
	return err
}
