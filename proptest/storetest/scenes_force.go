package storetest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func forcing[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"TheTimeoutOfAStateWhoseDeadlineIsLost", forceTimeout[Tx]},
		{"TheAnswerThatNothingGives", forceAnswer[Tx]},
		{"InThePlaceOfACaller", forceCaller[Tx]},
		{"WhatTheTableRefusesIsRefused", forceRefused[Tx]},
		{"AReplayForcesNothing", forceReplayed[Tx]},
		{"WhatWasForcedStays", forcedStays[Tx]},
	}
}

// forces forces an event that has to be accepted.
func (s *stage[Tx]) forces(id string, event fsm.Payload, call engine.Call) engine.Outcome {
	s.Helper()
	o, err := s.engine.Force(s.ctx, "deal", id, event, "ann", "the bank is away", call)
	s.must(err)
	return o
}

// told fails the test unless only the step to a version was forced, and by whom.
func (s *stage[Tx]) told(id string, version int64, by fsm.Caller) {
	s.Helper()
	rows, err := s.engine.History(s.ctx, "deal", id, 0, 100)
	s.must(err)
	for _, row := range rows {
		switch {
		case row.Version != version && row.Forced != nil:
			s.Errorf("version %d was forced by %+v", row.Version, row.Forced)
		case row.Version == version && (row.Forced == nil || *row.Forced != store.Forced{Who: "ann", Why: "the bank is away"} || row.By != by):
			s.Errorf("version %d was forced by %+v, as %+v", version, row.Forced, row.By)
		}
	}
	s.counts("fsm_forced WHERE machine = 'deal' AND record_id = '"+id+"'", 1)
}

func forceTimeout[Tx any](s *stage[Tx]) {
	id, other := s.offered(), s.offered()
	s.Vandalise(s.T, "fsm_deadlines", "DELETE FROM fsm_deadlines WHERE record_id = '"+id+"'")
	s.tick(72 * time.Hour)
	s.steps()
	s.in("deal", id, "OFFER_PENDING", 2)
	s.in("deal", other, "EXPIRED", 3)
	s.forces(id, deal.Expire{}, engine.Call{})
	s.in("deal", id, "EXPIRED", 3)
	s.told(id, 3, fsm.System())
	if !s.log.has("a step was forced") || !s.log.has("who=ann why=\"the bank is away\"") {
		s.Error("it is not logged")
	}
	s.steps()
	s.only("notify_owner", 4) // two offers, two ends
}

// forceAnswer cancels the work that the answer stands for, as leaving the state does.
func forceAnswer[Tx any](s *stage[Tx]) {
	id := s.offered()
	s.steps()
	s.accepts("deal", id, deal.Accept{}, owner)
	s.forces(id, deal.AddressReady{DepositAddress: "addr"}, engine.Call{})
	s.in("deal", id, "AWAITING_PAYMENT", 4)
	s.told(id, 4, fsm.System())
	s.counts("fsm_outbox WHERE effect = 'generate_deposit_address' AND cancelled", 1)
	s.steps()
	s.only("generate_deposit_address", 0)
	s.counts("fsm_deadlines WHERE record_id = '"+id+"'", 1)
}

func forceCaller[Tx any](s *stage[Tx]) {
	id := s.offered()
	s.forces(id, deal.Accept{}, engine.Call{By: owner})
	s.in("deal", id, "ACCEPTED", 3)
	s.told(id, 3, owner)
}

func forceRefused[Tx any](s *stage[Tx]) {
	id := s.offered()
	for want, force := range map[string]func() error{
		"DEPOSIT_CONFIRMED": func() error {
			_, err := s.engine.Force(s.ctx, "deal", id, deposit("1", 100), "ann", "it came", engine.Call{})
			return err
		},
		"ACCEPT": func() error { // not by the system
			_, err := s.engine.Force(s.ctx, "deal", id, deal.Accept{}, "ann", "he said so", engine.Call{})
			return err
		},
		"amount_nano": func() error { // a payload that the event does not have
			_, err := s.engine.Force(s.ctx, "deal", id, deposit("1", -1), "ann", "it came", engine.Call{})
			return err
		},
	} {
		var refused *fsm.Rejection
		if err := force(); !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			s.Errorf("the error is %v, want a rejection about %s", err, want)
		}
	}
	for _, reason := range [][2]string{{"", "to see"}, {"ann", ""}} {
		_, err := s.engine.Force(s.ctx, "deal", id, deal.Expire{}, reason[0], reason[1], engine.Call{})
		if err == nil || !strings.Contains(err.Error(), "who does it, and why") {
			s.Errorf("by %q, because %q: %v", reason[0], reason[1], err)
		}
	}
	s.must(s.engine.Transact(s.ctx, func(ctx context.Context, _ *engine.Tx[Tx]) error {
		_, err := s.engine.Force(ctx, "deal", id, deal.Expire{}, "ann", "to see", engine.Call{})
		s.wants(err, engine.ErrNested)
		return nil
	}))
	s.in("deal", id, "OFFER_PENDING", 2)
	s.counts("fsm_forced", 0)
}

func forceReplayed[Tx any](s *stage[Tx]) {
	id := s.offered()
	call := engine.Call{By: owner, IdempotencyKey: "accept"}
	_, err := s.engine.Fire(s.ctx, "deal", id, deal.Accept{}, call)
	s.must(err)
	if o := s.forces(id, deal.Accept{}, call); !o.Replayed {
		s.Errorf("it is %+v", o)
	}
	s.counts("fsm_forced", 0)
	if s.log.has("a step was forced") {
		s.Error("a replay is logged as forced")
	}
}

func forcedStays[Tx any](s *stage[Tx]) {
	id := s.offered()
	s.forces(id, deal.Expire{}, engine.Call{})
	for _, statement := range []string{
		"UPDATE fsm_forced SET who = 'bob'",
		"DELETE FROM fsm_forced",
		"INSERT INTO fsm_forced SELECT machine, record_id, version, 'bob', why, forced_at FROM fsm_forced",
		"INSERT OR REPLACE INTO fsm_forced SELECT machine, record_id, version, 'bob', why, forced_at FROM fsm_forced", // SQLite's own
		"INSERT INTO fsm_forced SELECT machine, record_id, version + 1, '', why, forced_at FROM fsm_forced",
		"INSERT INTO fsm_forced SELECT machine, record_id, version + 1, who, '', forced_at FROM fsm_forced",
	} {
		if err := s.Store.InTx(s.ctx, func(tx Tx) error { return s.Exec(s.ctx, tx, statement) }); err == nil {
			s.Errorf("the database takes: %s", statement)
		}
	}
	s.told(id, 3, fsm.System())
}
