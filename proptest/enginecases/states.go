package enginecases

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// withoutState is an earlier version of a machine that lacks a state.
type withoutState[Tx any] struct {
	engine.Machine[Tx]
	state string
}

// States lists the states of the version.
func (m withoutState[Tx]) States() []string {
	return slices.DeleteFunc(slices.Clone(m.Machine.States()), func(s string) bool { return s == m.state })
}

// workOfAnUnknownState runs a worker of an earlier version beside a later one. It does
// not claim messages and deadlines of a state that it does not have.
func workOfAnUnknownState[Tx any](f *fixture[Tx]) {
	id := f.activeDeal()
	earlier, err := engine.New(f.Store, f.config, engine.Machine[Tx](handled[Tx]{Machine: withoutState[Tx]{f.Deals, "OFFER_PENDING"}, handlers: &f.handlers}))
	f.Must(err)
	done := func(e *engine.Engine[Tx]) (n int) {
		for {
			more, err := e.Step(f.Context())
			f.Must(err)
			if n += more; more == 0 {
				return n
			}
		}
	}
	f.handlers.set("deal.events", func(context.Context, fsm.Dispatch) (*fsm.Event, error) { return nil, nil })
	f.handlers.set("notify_owner", func(context.Context, fsm.Dispatch) (*fsm.Event, error) { return nil, nil })
	if n := done(earlier); n != 1 {
		f.Errorf("the earlier version did %d things, want the message of DRAFT", n)
	}
	f.advance(100 * 24 * time.Hour)
	if n := done(earlier); n != 0 {
		f.Errorf("the earlier version did %d things that it can't know", n)
	}
	f.wantState("deal", id, "OFFER_PENDING", 2)
	f.WantCount("fsm_outbox WHERE attempts = 0", 2)
	if n := done(f.engine); n < 3 {
		f.Errorf("the later version did %d things", n)
	}
	f.wantState("deal", id, "EXPIRED", 3)
	f.WantCount("fsm_outbox WHERE state <> 'delivered'", 0)
}

// wrongState is a store that saves messages and deadlines with a state that the record is
// not in.
type wrongState[Tx any] struct {
	store.Store[Tx]
	misplace func(*store.Commit)
}

// Save saves the commits with the wrong state.
func (m wrongState[Tx]) Save(ctx context.Context, tx Tx, commits []store.Commit) error {
	for i := range commits {
		m.misplace(&commits[i])
	}
	return m.Store.Save(ctx, tx, commits)
}

// anotherState saves messages and deadlines of a state that the record is not in. The
// database refuses them.
func anotherState[Tx any](f *fixture[Tx]) {
	id := f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
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
		e := f.newEngine(wrongState[Tx]{f.Store, misplace}, f.config)
		_, err := e.Fire(f.Context(), "deal", id, deal.SubmitOffer{}, engine.Call{By: storetest.Advertiser})
		if err == nil || !strings.Contains(err.Error(), "fsmgen: "+table) {
			f.Errorf("%s: the error is %v", table, err)
		}
	}
	f.wantState("deal", id, "DRAFT", 1)
}

// answerToAnUnknownState has another version take the record to a state that this one
// does not have, while its effect is carried out. The effect has succeeded, so no failure
// event is fired.
func answerToAnUnknownState[Tx any](f *fixture[Tx]) {
	id := f.extracting()
	f.handlers.set("extract_layers", func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		f.Corrupt(f.Unpacks, id)
		event, err := fsm.EventOf(unpack.Extracted{})
		return &event, err
	})
	_, err := f.engine.Step(f.Context())
	f.Must(err)
	dead, err := f.engine.DeadLetters(f.Context(), store.Filter{}, "", 10)
	f.Must(err)
	if len(dead) != 1 || strings.Count(dead[0].LastError, "run the version that took the record there") != 1 {
		f.Fatalf("the dead letters are %s", storetest.Text(dead))
	}
}
