package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// unpackHandoff says that there is nothing to unpack.
var unpackHandoff = unpack.Checked{RowVerified: true, RowChecksum: fsm.Some("c"), DeviceExists: true, FoundPath: fsm.Some("/dev/x"), DeviceID: "12345678"}

func bugsOfOthers[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"TwoActiveRunsEachResumeTheirUnfinishedStep", twoActiveRuns[Tx]},
		{"ShipAndRefundOnOneOrderAreNotBothTaken", shipAndRefund[Tx]},
		{"TheVersionIsInTheWhereClause", noLostUpdate[Tx]},
		{"AHandlerThatFiresAnEventDoesNotDeadlock", handlerFires[Tx]},
		{"NobodyWritesTheStateColumn", personCannot[Tx]},
		{"ARefusalSaysWhichGuardAndWhatItSaw", refusalExplains[Tx]},
		{"DeadlinesComeBackAfterARestart", deadlinesComeBack[Tx]},
		{"AStateThatTheTableNoLongerHasIsNotGuessed", unknownState[Tx]},
	}
}

// twoActiveRuns restarts with two runs in the middle of their work. A list of
// completed steps that the runs shared would make the second skip its own.
func twoActiveRuns[Tx any](s *stage[Tx]) {
	s.script.answers("check_exists", download.Checked{})
	var ids []string
	for _, image := range []string{"one", "two"} {
		ids = append(ids, s.create("download", download.Start{ImageID: image, S3Key: image, Bucket: "b"}, fsm.System()))
	}
	_, err := s.engine.Step(s.ctx)
	s.must(err)
	if held := s.dies(); !slices.Equal(held, []string{"download_object", "download_object"}) {
		s.Fatalf("the dead worker held %v", held)
	}
	s.restart()
	s.script.answers("download_object", download.Downloaded{LocalPath: "/x", Checksum: "c", SizeBytes: 3})
	s.script.answers("validate_file", valid)
	s.script.answers("check_unpacked", unpackHandoff)
	s.steps()
	for _, id := range ids {
		s.in("download", id, "COMPLETE", 5)
	}
	for _, effect := range []string{"download_object", "validate_file", "check_unpacked"} {
		calls := s.only(effect, 2)
		if calls[0].Record == calls[1].Record {
			s.Errorf("%s was done for one of the runs twice", effect)
		}
	}
}

// shipAndRefund has a crowd fire two events that exclude each other. One of the
// two is told that it happened, and only its effects do.
func shipAndRefund[Tx any](s *stage[Tx]) {
	id := s.offered()
	s.script.answers("generate_deposit_address", deal.AddressReady{DepositAddress: "a"})
	var mu sync.Mutex
	took := map[string]int{}
	s.atOnce(func(db store.Store[Tx], i int) error {
		event, by := fsm.Payload(deal.Accept{}), owner
		if i/2%2 == 1 {
			event, by = deal.Withdraw{}, advertiser
		}
		o, err := s.open(db, s.config).Fire(s.ctx, "deal", id, event, engine.Call{By: by})
		var x *fsm.Rejection
		if errors.As(err, &x) || errors.Is(err, store.ErrConflict) {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if len(o.Steps) > 0 {
			took[event.EventName()]++
		} else if err == nil && !o.AlreadyThere {
			s.Errorf("%s was neither taken nor refused", event.EventName())
		}
		return err
	})
	if len(took) != 1 || took["ACCEPT"]+took["WITHDRAW"] != 1 {
		s.Fatalf("taken: %v", took)
	}
	s.steps()
	s.only("generate_deposit_address", took["ACCEPT"])
	s.counts("deal_events WHERE event_type IN ('ACCEPT', 'WITHDRAW')", 1)
	s.counts("fsm_outbox WHERE effect = 'notify_advertiser'", took["ACCEPT"])
}

// noLostUpdate has both parties consent at the same moment, many times. An
// update by id alone would let one consent overwrite the other, and the deal
// would hang.
func noLostUpdate[Tx any](s *stage[Tx]) {
	for range 5 {
		id := s.paid()
		s.atOnce(func(db store.Store[Tx], i int) error {
			by := advertiser
			if i%2 == 1 {
				by = owner
			}
			e := s.open(db, s.config)
			for {
				_, err := e.Fire(s.ctx, "deal", id, deal.MutualCancel{}, engine.Call{By: by})
				var x *fsm.Rejection
				switch {
				case errors.Is(err, store.ErrConflict):
					continue // it still makes sense
				case errors.As(err, &x):
					return nil
				}
				return err
			}
		})
		s.counts("deals WHERE deal_id = '"+id+"' AND status = 'CANCELLED' AND advertiser_cancels AND owner_cancels", 1)
	}
}

// handlerFires has a handler fire events at its own record and at another.
func handlerFires[Tx any](s *stage[Tx]) {
	ctx, cancel := context.WithTimeout(s.ctx, time.Minute)
	defer cancel()
	other := s.offered()
	s.steps()
	s.script.on("notify_owner", func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		for _, id := range []string{d.Record, other} {
			if _, err := s.engine.Fire(ctx, "deal", id, deal.CounterOffer{PriceNano: 90}, engine.Call{By: owner}); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	id := s.offered()
	s.steps()
	s.in("deal", id, "NEGOTIATING", 3)
	s.in("deal", other, "NEGOTIATING", 3)
	s.counts("fsm_outbox WHERE state <> 'delivered'", 0)
}

func refusalExplains[Tx any](s *stage[Tx]) {
	id := s.validating("img")
	_, err := s.engine.Fire(s.ctx, "download", id, download.Start{ImageID: "x", S3Key: "k", Bucket: "b"}, engine.Call{})
	x := as[*fsm.Rejection](s, err)
	if x.State != "validate" || x.Event != "START" || !slices.Contains(x.Legal, "VALIDATED") {
		s.Errorf("the refusal says %s", text(x))
	}
	w := s.walClaimed()
	_, err = s.engine.Fire(s.ctx, "wal", w, walFailure, engine.Call{By: walWorker})
	x = as[*fsm.Rejection](s, err)
	if !errors.Is(err, fsm.ErrRefused) || x.Failure != "stale_claim" || len(x.Rows) == 0 || len(x.Rows[0].Seen) != 2 {
		s.Fatalf("the refusal says %s", text(x))
	}
}

// deadlinesComeBack restarts the engine before a deadline is due, and then has one
// lost, which a person brings back.
func deadlinesComeBack[Tx any](s *stage[Tx]) {
	id, lost := s.offered(), s.offered()
	s.Vandalise(s.T, "fsm_deadlines", "DELETE FROM fsm_deadlines WHERE record_id = '"+lost+"'")
	s.restart()
	s.tick(24 * time.Hour)
	did, err := s.engine.Resume(s.ctx, "deal", lost, "ann", "the deadline is gone")
	s.must(err)
	if !did.Deadline {
		s.Fatalf("it did %+v", did)
	}
	s.tick(24 * time.Hour) // 48 h from the entry, not from the repair
	s.steps()
	s.in("deal", id, "EXPIRED", 3)
	s.in("deal", lost, "EXPIRED", 3)
}

// unknownState has a live row in a state that the table does not have: it is
// named, nothing is done to it, and the others go on.
func unknownState[Tx any](s *stage[Tx]) {
	id, other := s.offered(), s.offered()
	s.corrupt(head[Tx]{machine: s.deals, id: id})
	_, err := s.engine.Fire(s.ctx, "deal", id, deal.Withdraw{}, engine.Call{By: advertiser})
	if e := as[*store.CorruptError](s, err); e.ID != id {
		s.Fatalf("the error says %v", e)
	}
	_, err = s.engine.Get(s.ctx, "deal", id)
	s.wants(err, store.ErrCorrupt)
	s.tick(48 * time.Hour)
	s.steps()
	s.in("deal", other, "EXPIRED", 3)
	s.counts("deals WHERE status = 'nowhere'", 1)
}
