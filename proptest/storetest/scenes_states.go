package storetest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// stateless is an earlier version of a machine, without a state.
type stateless[Tx any] struct {
	engine.Machine[Tx]
	state string
}

// States lists those that the version has.
func (m stateless[Tx]) States() []string {
	return slices.DeleteFunc(slices.Clone(m.Machine.States()), func(s string) bool { return s == m.state })
}

// workOfAnUnknownState has a worker of an earlier version beside a later one. It leaves the
// messages and deadlines alone that were asked for in a state which it does not have.
func workOfAnUnknownState[Tx any](s *stage[Tx]) {
	id := s.living()
	earlier, err := engine.New(s.Store, s.config, engine.Machine[Tx](played[Tx]{Machine: stateless[Tx]{s.deals, "OFFER_PENDING"}, script: &s.script}))
	s.must(err)
	done := func(e *engine.Engine[Tx]) (n int) {
		for {
			more, err := e.Step(s.ctx)
			s.must(err)
			if n += more; more == 0 {
				return n
			}
		}
	}
	s.script.on("deal.events", func(context.Context, fsm.Dispatch) (*fsm.Event, error) { return nil, nil })
	s.script.on("notify_owner", func(context.Context, fsm.Dispatch) (*fsm.Event, error) { return nil, nil })
	if n := done(earlier); n != 1 {
		s.Errorf("the earlier version did %d things, want the message of DRAFT", n)
	}
	s.tick(100 * 24 * time.Hour)
	if n := done(earlier); n != 0 {
		s.Errorf("the earlier version did %d things that it can't know", n)
	}
	s.in("deal", id, "OFFER_PENDING", 2)
	s.counts("fsm_outbox WHERE attempts = 0", 2)
	if n := done(s.engine); n < 3 {
		s.Errorf("the later version did %d things", n)
	}
	s.in("deal", id, "EXPIRED", 3)
	s.counts("fsm_outbox WHERE state <> 'delivered'", 0)
}

// misplacing is a store that names another state than the record's.
type misplacing[Tx any] struct {
	store.Store[Tx]
	misplace func(*store.Commit)
}

// Save names it.
func (m misplacing[Tx]) Save(ctx context.Context, tx Tx, commits []store.Commit) error {
	for i := range commits {
		m.misplace(&commits[i])
	}
	return m.Store.Save(ctx, tx, commits)
}

// anotherState has rows name a state that the record is not in: the database refuses them.
func anotherState[Tx any](s *stage[Tx]) {
	id := s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	for table, misplace := range map[string]func(*store.Commit){
		"fsm_outbox": func(c *store.Commit) {
			for i := range c.Outbox {
				c.Outbox[i].RecordState = "FUNDED"
			}
		},
		"fsm_deadlines": func(c *store.Commit) {
			for i := range c.SetDeadlines {
				c.SetDeadlines[i].RecordState = "FUNDED"
			}
		},
	} {
		e := s.open(misplacing[Tx]{s.Store, misplace}, s.config)
		_, err := e.Fire(s.ctx, "deal", id, deal.SubmitOffer{}, engine.Call{By: advertiser})
		if err == nil || !strings.Contains(err.Error(), "fsmgen: "+table) {
			s.Errorf("%s: the error is %v", table, err)
		}
	}
	s.in("deal", id, "DRAFT", 1)
}

// answerToAnUnknownState has another version take the record to a state that this one does
// not have, while its effect is carried out. The effect has happened, so no
// failure is fired.
func answerToAnUnknownState[Tx any](s *stage[Tx]) {
	id := s.extracting()
	s.script.on("extract_layers", func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		s.corrupt(head[Tx]{machine: s.unpacks, id: id})
		event, err := fsm.EventOf(unpack.Extracted{})
		return &event, err
	})
	_, err := s.engine.Step(s.ctx)
	s.must(err)
	dead, err := s.engine.DeadLetters(s.ctx, store.Filter{}, "", 10)
	s.must(err)
	if len(dead) != 1 || strings.Count(dead[0].LastError, "run the version that took the record there") != 1 {
		s.Fatalf("the dead letters are %s", text(dead))
	}
}
