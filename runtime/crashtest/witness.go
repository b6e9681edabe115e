package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// witness is a real machine whose handlers do what the script says, pass points
// on the way, and note in the diary what they did: that note is the change of
// the world.
type witness[Tx any] struct {
	engine.Machine[Tx]
	stage *stage[Tx]
}

// errScripted is a failure that the script wants.
var errScripted = errors.New("the script lets this attempt fail")

// HandleTx leaves a row behind, in the transaction.
func (w witness[Tx]) HandleTx(ctx context.Context, tx Tx, d fsm.Dispatch) error {
	before := w.stage.cutter.hit(TxCallBefore)
	err := w.stage.database.Exec(ctx, tx, fmt.Sprintf(
		"INSERT INTO crash_markers (scenario, machine, record_id, version, effect, message_id) VALUES ('%s', '%s', '%s', %d, '%s', '%s')",
		d.Correlation, d.Machine, d.Record, d.Version, d.Effect, d.ID))
	if err != nil {
		return err
	}
	after := w.stage.cutter.hit(TxCallAfter)
	return w.pass(d, InTx, Cut{TxCallBefore, before}, Cut{TxCallAfter, after})
}

// Handle changes the world and answers.
func (w witness[Tx]) Handle(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
	before := w.stage.cutter.hit(HandlerBefore)
	r := w.stage.reply(d)
	if err := w.stage.write(dispatched(called, d)); err != nil {
		return nil, err
	}
	if w.stage.fails(r, d) {
		return nil, errScripted
	}
	if r.meanwhile > 0 {
		if err := w.stage.meanwhile(ctx, r.meanwhile); err != nil {
			return nil, err
		}
	}
	if err := w.stage.write(dispatched(done, d)); err != nil {
		return nil, err
	}
	after := w.stage.cutter.hit(HandlerAfter)
	if err := w.pass(d, w.kindOf(d), Cut{HandlerBefore, before}, Cut{HandlerAfter, after}); err != nil {
		return nil, err
	}
	return encoded(r.answer)
}

// Query looks into the diary, which stands for the world.
func (w witness[Tx]) Query(_ context.Context, d fsm.Dispatch) (*fsm.Event, bool, error) {
	before := w.stage.cutter.hit(QueryBefore)
	if err := w.stage.write(dispatched(asked, d)); err != nil {
		return nil, false, err
	}
	happened := w.stage.has(done, func(e entry) bool { return e.ID == d.ID })
	after := w.stage.cutter.hit(QueryAfter)
	if err := w.pass(d, Queryable, Cut{QueryBefore, before}, Cut{QueryAfter, after}); err != nil || !happened {
		return nil, false, err
	}
	answer, err := encoded(w.stage.reply(d).answer)
	return answer, err == nil, err
}

// kindOf tells deliveries from the cleanups that go before a repeat.
func (w witness[Tx]) kindOf(d fsm.Dispatch) Kind {
	if isCleanup(w.Machine.Effects(), d.Effect) && !w.stage.isMessage(d) {
		return Cleanup
	}
	for _, info := range w.Machine.Effects() {
		if info.Name == d.Effect {
			return Kind(info.Delivery)
		}
	}
	return ""
}

func isCleanup(effects []fsm.EffectInfo, name string) bool {
	for _, info := range effects {
		if info.Cleanup == name {
			return true
		}
	}
	return false
}

func (w witness[Tx]) pass(d fsm.Dispatch, k Kind, points ...Cut) (err error) {
	for _, p := range points {
		err = errors.Join(err, w.stage.cutter.pass(p.Point, p.N, d.Machine, k, d.Effect))
	}
	return err
}

func encoded(p fsm.Payload) (*fsm.Event, error) {
	if p == nil {
		return nil, nil
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", p.EventName(), err)
	}
	return &fsm.Event{Name: p.EventName(), Payload: text}, nil
}
