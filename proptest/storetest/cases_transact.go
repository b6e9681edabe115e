package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func engineTransactions[Tx any]() []engineCase[Tx] {
	return []engineCase[Tx]{
		{"WithInlineEffectsItIsOneTransaction", inlineInTransaction[Tx]},
		{"KilledItLeavesNothing", transactionKilled[Tx]},
		{"FailedItLeavesNothing", transactionFails[Tx]},
		{"AnInlineEffectThatFailsIsLeftToAWorker", inlineFails[Tx]},
	}
}

// inlineCheck makes downloads check the file inside the transaction, and insert a row
// there. end returns how it ends.
func (f *engineFixture[Tx]) inlineCheck(end func() error) {
	f.Helper()
	f.must(f.Store.InTx(f.ctx, func(tx Tx) error { return f.Exec(f.ctx, tx, "CREATE TABLE mine (n integer NOT NULL)") }))
	f.must(f.engine.Inline("download", "check_exists", func(ctx context.Context, tx Tx, effects []fsm.Dispatch) ([]*fsm.Event, error) {
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
func (f *engineFixture[Tx]) createThree(ctx context.Context, more func() error) (ids []string, err error) {
	err = f.engine.Transact(ctx, func(ctx context.Context, u *engine.Tx[Tx]) error {
		ids = nil
		for n := range 3 {
			id := f.newID()
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

func (f *engineFixture[Tx]) wantNothing() {
	f.Helper()
	for _, table := range []string{"download_records", "download_history", "mine"} {
		f.wantCount(table, 0)
	}
	f.wantNothingVisible()
}

func inlineInTransaction[Tx any](f *engineFixture[Tx]) {
	f.inlineCheck(func() error {
		f.wantCount("download_records", 0) // no other connection sees it yet
		return nil
	})
	ids, err := f.createThree(f.ctx, nothing)
	f.must(err)
	for _, id := range ids {
		f.wantState("download", id, "download", 2)
	}
	f.wantCount("mine WHERE n = 3", 1)
	f.wantCount("mine", 1)
	f.wantCount("fsm_outbox WHERE effect = 'check_exists'", 0)
	f.wantCount("fsm_outbox WHERE effect = 'download_object'", 3)
}

// transactionKilled cancels the context when the effects are carried out and nothing is
// committed.
func transactionKilled[Tx any](f *engineFixture[Tx]) {
	ctx, kill := context.WithCancel(f.ctx)
	f.inlineCheck(func() error { kill(); return nil })
	_, err := f.createThree(ctx, nothing)
	f.wantError(err, context.Canceled)
	f.wantNothing()
}

func transactionFails[Tx any](f *engineFixture[Tx]) {
	mine := errors.New("mine")
	f.inlineCheck(nothing)
	_, err := f.createThree(f.ctx, func() error { return mine })
	f.wantError(err, mine)
	f.wantNothing()
}

// inlineFails has an inline effect fail. Its writes are rolled back, and the transaction
// is stored without them.
func inlineFails[Tx any](f *engineFixture[Tx]) {
	f.inlineCheck(func() error { return errors.New("no route to host") })
	ids, err := f.createThree(f.ctx, nothing)
	f.must(err)
	for _, id := range ids {
		f.wantState("download", id, "check-exists", 1)
	}
	f.wantCount("mine", 0)
	f.wantCount("fsm_outbox WHERE effect = 'check_exists'", 3)
	f.handlers.answer("check_exists", download.Checked{})
	_, err = f.engine.Step(f.ctx)
	f.must(err)
	for _, id := range ids {
		f.wantState("download", id, "download", 2)
	}
}
