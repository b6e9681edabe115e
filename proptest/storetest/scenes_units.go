package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func units[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"AUnitWithInlineEffectsIsOneTransaction", unitIsOne[Tx]},
		{"AUnitThatIsKilledLeavesNothing", unitKilled[Tx]},
		{"AUnitThatFailsLeavesNothing", unitFails[Tx]},
		{"AnInlineEffectThatFailsIsLeftToAWorker", inlineFails[Tx]},
	}
}

// inlined has downloads look within the transaction whether the file exists, and
// write that down there; then end says how it ends.
func (s *stage[Tx]) inlined(end func() error) {
	s.Helper()
	s.must(s.Store.InTx(s.ctx, func(tx Tx) error { return s.Exec(s.ctx, tx, "CREATE TABLE mine (n integer NOT NULL)") }))
	s.must(s.engine.Inline("download", "check_exists", func(ctx context.Context, tx Tx, effects []fsm.Dispatch) ([]*fsm.Event, error) {
		if err := s.Exec(ctx, tx, fmt.Sprintf("INSERT INTO mine (n) VALUES (%d)", len(effects))); err != nil {
			return nil, err
		}
		var answers []*fsm.Event
		for range effects {
			answer, err := event(download.Checked{})
			if err != nil {
				return nil, err
			}
			answers = append(answers, answer)
		}
		return answers, end()
	}))
}

// startsThree starts downloads in one transaction, and then does more.
func (s *stage[Tx]) startsThree(ctx context.Context, more func() error) (ids []string, err error) {
	err = s.engine.Transact(ctx, func(ctx context.Context, u *engine.Tx[Tx]) error {
		ids = nil
		for n := range 3 {
			id := s.id()
			ids = append(ids, id)
			start := download.Start{ImageID: fmt.Sprint("img-", n), S3Key: "k", Bucket: "b"}
			if _, err := u.Create(ctx, "download", id, start, engine.Call{By: fsm.System()}); err != nil {
				return err
			}
		}
		return more()
	})
	return ids, err
}

func nothing() error { return nil }

func (s *stage[Tx]) leavesNothing() {
	s.Helper()
	for _, table := range []string{"download_records", "download_history", "mine"} {
		s.counts(table, 0)
	}
	s.nothingSeen()
}

func unitIsOne[Tx any](s *stage[Tx]) {
	s.inlined(func() error {
		s.counts("download_records", 0) // nobody else sees any of it yet
		return nil
	})
	ids, err := s.startsThree(s.ctx, nothing)
	s.must(err)
	for _, id := range ids {
		s.in("download", id, "download", 2)
	}
	s.counts("mine WHERE n = 3", 1)
	s.counts("mine", 1)
	s.counts("fsm_outbox WHERE effect = 'check_exists'", 0)
	s.counts("fsm_outbox WHERE effect = 'download_object'", 3)
}

// unitKilled ends the context when the effects are carried out and nothing of it is
// committed.
func unitKilled[Tx any](s *stage[Tx]) {
	ctx, kill := context.WithCancel(s.ctx)
	s.inlined(func() error { kill(); return nil })
	_, err := s.startsThree(ctx, nothing)
	s.wants(err, context.Canceled)
	s.leavesNothing()
}

func unitFails[Tx any](s *stage[Tx]) {
	mine := errors.New("mine")
	s.inlined(nothing)
	_, err := s.startsThree(s.ctx, func() error { return mine })
	s.wants(err, mine)
	s.leavesNothing()
}

// inlineFails: what was carried out is undone, and the unit is stored without.
func inlineFails[Tx any](s *stage[Tx]) {
	s.inlined(func() error { return errors.New("no route to host") })
	ids, err := s.startsThree(s.ctx, nothing)
	s.must(err)
	for _, id := range ids {
		s.in("download", id, "check-exists", 1)
	}
	s.counts("mine", 0)
	s.counts("fsm_outbox WHERE effect = 'check_exists'", 3)
	s.script.answers("check_exists", download.Checked{})
	_, err = s.engine.Step(s.ctx)
	s.must(err)
	for _, id := range ids {
		s.in("download", id, "download", 2)
	}
}
