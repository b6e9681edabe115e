package enginecases

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func forcing[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"TheTimeoutOfAStateWhoseDeadlineIsLost", forceTimeout[Tx]},
		{"TheAnswerOfAnEffect", forceAnswer[Tx]},
		{"TheEventOfACaller", forceCaller[Tx]},
		{"WhatTheTableRefusesIsRefused", forceRefused[Tx]},
		{"AReplayForcesNothing", forceReplayed[Tx]},
		{"WhatWasForcedStays", forcedIsAppendOnly[Tx]},
	}
}

// mustForce forces an event and fails the test if it is refused.
func (f *fixture[Tx]) mustForce(id string, event fsm.Payload, call engine.Call) engine.Outcome {
	f.Helper()
	o, err := f.engine.Force(f.Context(), "deal", id, event, "ann", "the bank is away", call)
	f.Must(err)
	return o
}

// wantForced fails the test unless only the step to this version was forced, by this
// caller.
func (f *fixture[Tx]) wantForced(id string, version int64, by fsm.Caller) {
	f.Helper()
	rows, err := f.engine.History(f.Context(), "deal", id, 0, 100)
	f.Must(err)
	for _, row := range rows {
		switch {
		case row.Version != version && row.Forced != nil:
			f.Errorf("version %d was forced by %+v", row.Version, row.Forced)
		case row.Version == version && (row.Forced == nil || *row.Forced != store.Forced{Who: "ann", Why: "the bank is away"} || row.By != by):
			f.Errorf("version %d was forced by %+v, as %+v", version, row.Forced, row.By)
		}
	}
	f.WantCount("fsm_forced WHERE machine = 'deal' AND record_id = '"+id+"'", 1)
}

func forceTimeout[Tx any](f *fixture[Tx]) {
	id, other := f.offered(), f.offered()
	f.ExecUnchecked(f.T, "fsm_deadlines", "DELETE FROM fsm_deadlines WHERE record_id = '"+id+"'")
	f.advance(72 * time.Hour)
	f.stepAll()
	f.wantState("deal", id, "OFFER_PENDING", 2)
	f.wantState("deal", other, "EXPIRED", 3)
	f.mustForce(id, deal.Expire{}, engine.Call{})
	f.wantState("deal", id, "EXPIRED", 3)
	f.wantForced(id, 3, fsm.System())
	if !f.log.has("a step was forced") || !f.log.has("who=ann why=\"the bank is away\"") {
		f.Error("it is not logged")
	}
	f.stepAll()
	f.wantCalls("notify_owner", 4) // two offers, two ends
}

// forceAnswer forces an answer, which cancels the work that it stands for, as leaving the
// state does.
func forceAnswer[Tx any](f *fixture[Tx]) {
	id := f.offered()
	f.stepAll()
	f.mustFire("deal", id, deal.Accept{}, storetest.Owner)
	f.mustForce(id, deal.AddressReady{DepositAddress: "addr"}, engine.Call{})
	f.wantState("deal", id, "AWAITING_PAYMENT", 4)
	f.wantForced(id, 4, fsm.System())
	f.WantCount("fsm_outbox WHERE effect = 'generate_deposit_address' AND cancelled", 1)
	f.stepAll()
	f.wantCalls("generate_deposit_address", 0)
	f.WantCount("fsm_deadlines WHERE record_id = '"+id+"'", 1)
}

func forceCaller[Tx any](f *fixture[Tx]) {
	id := f.offered()
	f.mustForce(id, deal.Accept{}, engine.Call{By: storetest.Owner})
	f.wantState("deal", id, "ACCEPTED", 3)
	f.wantForced(id, 3, storetest.Owner)
}

func forceRefused[Tx any](f *fixture[Tx]) {
	id := f.offered()
	for want, force := range map[string]func() error{
		"DEPOSIT_CONFIRMED": func() error {
			_, err := f.engine.Force(f.Context(), "deal", id, deposit("1", 100), "ann", "it came", engine.Call{})
			return err
		},
		"ACCEPT": func() error { // not by the system
			_, err := f.engine.Force(f.Context(), "deal", id, deal.Accept{}, "ann", "he said so", engine.Call{})
			return err
		},
		"amount_nano": func() error { // a payload that the event does not have
			_, err := f.engine.Force(f.Context(), "deal", id, deposit("1", -1), "ann", "it came", engine.Call{})
			return err
		},
	} {
		var refused *fsm.Rejection
		if err := force(); !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			f.Errorf("the error is %v, want a rejection about %s", err, want)
		}
	}
	for _, reason := range [][2]string{{"", "to see"}, {"ann", ""}} {
		_, err := f.engine.Force(f.Context(), "deal", id, deal.Expire{}, reason[0], reason[1], engine.Call{})
		if err == nil || !strings.Contains(err.Error(), "who and why must not be empty") {
			f.Errorf("by %q, because %q: %v", reason[0], reason[1], err)
		}
	}
	f.Must(f.engine.Transact(f.Context(), func(ctx context.Context, _ *engine.Tx[Tx]) error {
		_, err := f.engine.Force(ctx, "deal", id, deal.Expire{}, "ann", "to see", engine.Call{})
		f.WantError(err, engine.ErrNested)
		return nil
	}))
	f.wantState("deal", id, "OFFER_PENDING", 2)
	f.WantCount("fsm_forced", 0)
}

func forceReplayed[Tx any](f *fixture[Tx]) {
	id := f.offered()
	call := engine.Call{By: storetest.Owner, IdempotencyKey: "accept"}
	_, err := f.engine.Fire(f.Context(), "deal", id, deal.Accept{}, call)
	f.Must(err)
	if o := f.mustForce(id, deal.Accept{}, call); !o.Replayed {
		f.Errorf("it is %+v", o)
	}
	f.WantCount("fsm_forced", 0)
	if f.log.has("a step was forced") {
		f.Error("a replay is logged as forced")
	}
}

func forcedIsAppendOnly[Tx any](f *fixture[Tx]) {
	id := f.offered()
	f.mustForce(id, deal.Expire{}, engine.Call{})
	for _, statement := range []string{
		"UPDATE fsm_forced SET who = 'bob'",
		"DELETE FROM fsm_forced",
		"INSERT INTO fsm_forced SELECT machine, record_id, version, 'bob', why, forced_at FROM fsm_forced",
		"INSERT OR REPLACE INTO fsm_forced SELECT machine, record_id, version, 'bob', why, forced_at FROM fsm_forced", // SQLite's own
		"INSERT INTO fsm_forced SELECT machine, record_id, version + 1, '', why, forced_at FROM fsm_forced",
		"INSERT INTO fsm_forced SELECT machine, record_id, version + 1, who, '', forced_at FROM fsm_forced",
	} {
		if err := f.Store.InTx(f.Context(), func(tx Tx) error { return f.Exec(f.Context(), tx, statement) }); err == nil {
			f.Errorf("the database takes: %s", statement)
		}
	}
	f.wantForced(id, 3, fsm.System())
}
