package enginecases

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func engineTransactions[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"WithInlineEffectsItIsOneTransaction", inlineInTransaction[Tx]},
		{"KilledItLeavesNothing", transactionKilled[Tx]},
		{"FailedItLeavesNothing", transactionFails[Tx]},
		{"AnInlineEffectThatFailsIsLeftToAWorker", inlineFails[Tx]},
	}
}

// inlineCheck makes downloads check the file inside the transaction, and insert a row
// there. end returns how it ends.
func (f *fixture[Tx]) inlineCheck(end func() error) {
	f.Helper()
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) error { return f.Exec(f.Context(), tx, "CREATE TABLE mine (n integer NOT NULL)") }))
	f.Must(f.engine.Inline("download", "check_exists", func(ctx context.Context, tx Tx, effects []fsm.Dispatch) ([]*fsm.Event, error) {
		if err := f.Exec(ctx, tx, fmt.Sprintf("INSERT INTO mine (n) VALUES (%d)", len(effects))); err != nil {
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

// createThree starts downloads in one transaction, and then calls more.
func (f *fixture[Tx]) createThree(ctx context.Context, more func() error) (ids []string, err error) {
	err = f.engine.Transact(ctx, func(ctx context.Context, u *engine.Tx[Tx]) error {
		ids = nil
		for n := range 3 {
			id := f.NewID()
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

func (f *fixture[Tx]) wantNothing() {
	f.Helper()
	for _, table := range []string{"download_records", "download_history", "mine", "fsm_outbox", "fsm_deadlines", "fsm_keys"} {
		f.WantCount(table, 0)
	}
}

func inlineInTransaction[Tx any](f *fixture[Tx]) {
	f.inlineCheck(func() error {
		f.WantCount("download_records", 0) // no other connection sees it yet
		return nil
	})
	ids, err := f.createThree(f.Context(), nothing)
	f.Must(err)
	for _, id := range ids {
		f.wantState("download", id, "download", 2)
	}
	f.WantCount("mine WHERE n = 3", 1)
	f.WantCount("mine", 1)
	f.WantCount("fsm_outbox WHERE effect = 'check_exists'", 0)
	f.WantCount("fsm_outbox WHERE effect = 'download_object'", 3)
}

// transactionKilled cancels the context when the effects are carried out and nothing is
// committed.
func transactionKilled[Tx any](f *fixture[Tx]) {
	ctx, kill := context.WithCancel(f.Context())
	f.inlineCheck(func() error { kill(); return nil })
	_, err := f.createThree(ctx, nothing)
	f.WantError(err, context.Canceled)
	f.wantNothing()
}

func transactionFails[Tx any](f *fixture[Tx]) {
	mine := errors.New("mine")
	f.inlineCheck(nothing)
	_, err := f.createThree(f.Context(), func() error { return mine })
	f.WantError(err, mine)
	f.wantNothing()
}

// inlineFails has an inline effect fail. Its writes are rolled back, and the transaction
// is stored without them.
func inlineFails[Tx any](f *fixture[Tx]) {
	f.inlineCheck(func() error { return errors.New("no route to host") })
	ids, err := f.createThree(f.Context(), nothing)
	f.Must(err)
	for _, id := range ids {
		f.wantState("download", id, "check-exists", 1)
	}
	f.WantCount("mine", 0)
	f.WantCount("fsm_outbox WHERE effect = 'check_exists'", 3)
	f.handlers.answer("check_exists", download.Checked{})
	_, err = f.engine.Step(f.Context())
	f.Must(err)
	for _, id := range ids {
		f.wantState("download", id, "download", 2)
	}
}
