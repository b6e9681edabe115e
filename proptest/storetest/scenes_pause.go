package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func pausing[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"AnEffectWaitsAndTheOthersGoOn", effectWaits[Tx]},
		{"WhatIsBehindAPausedMessageWaits", behindWaits[Tx]},
		{"AMachineWaitsWithItsDeadlines", machineWaits[Tx]},
		{"ADestinationWaitsInAllMachines", destinationWaits[Tx]},
		{"AnEffectWaitsForItsCleanup", cleanupWaits[Tx]},
		{"ItHoldsInEveryProcessAndAfterARestart", pauseIsStored[Tx]},
		{"WithoutAnAnswerTheLastPausesHold", lastPausesHold[Tx]},
		{"AnInlineEffectIsLeftToAWorker", inlineWaits[Tx]},
		{"WhatIsNotThereIsNotPaused", pauseOfNothing[Tx]},
	}
}

// pauses pauses a scope, by another process than the stage's.
func (s *stage[Tx]) pauses(scope store.Scope) {
	s.Helper()
	s.must(s.open(s.Reopen(s.T), s.config).Pause(s.ctx, scope, "ann", "the bank is away"))
}

func (s *stage[Tx]) unpauses(scope store.Scope) {
	s.Helper()
	s.must(s.open(s.Reopen(s.T), s.config).Unpause(s.ctx, scope, "ann", "it is back"))
}

// untouched fails the test unless so many messages were never claimed.
func (s *stage[Tx]) untouched(where string, want int) {
	s.Helper()
	s.counts("fsm_outbox WHERE state = 'pending' AND attempts = 0 AND "+where, want)
}

func effectWaits[Tx any](s *stage[Tx]) {
	scope := store.Scope{Machine: "deal", Effect: "notify_owner"}
	s.pauses(scope)
	s.offered()
	s.steps()
	s.only("deal.events", 2)
	s.untouched("effect = 'notify_owner'", 1)
	if !s.log.has("msg=paused machine=deal effect=notify_owner") || !s.log.has("who=ann why=\"the bank is away\"") || s.counted(engine.MetricPaused) == 0 {
		s.Error("the pause is neither logged nor measured")
	}
	if s.counted(engine.MetricUnknown) != 0 {
		s.Error("it counts as unknown work")
	}
	s.unpauses(scope)
	s.steps()
	s.only("notify_owner", 1)
	if !s.log.has("no longer paused") || !s.log.has("it is back") {
		s.Error("the end of the pause is not logged")
	}
}

// scheduled makes a deal that asks for two effects of one destination.
func (s *stage[Tx]) scheduled() {
	s.Helper()
	id := s.paid()
	s.accepts("deal", id, deal.SubmitDraft{Creative: `{"text":"x"}`}, owner)
	s.accepts("deal", id, deal.Approve{}, advertiser)
	s.accepts("deal", id, deal.SetPublishTime{PublishAt: s.Now().Add(time.Hour)}, owner)
}

func behindWaits[Tx any](s *stage[Tx]) {
	scope := store.Scope{Machine: "deal", Effect: "enable_publishing"}
	s.pauses(scope)
	s.scheduled()
	s.steps()
	s.only("schedule_post", 0)
	s.unpauses(scope)
	s.steps()
	order := slices.DeleteFunc(s.script.order(), func(name string) bool { return name != "enable_publishing" && name != "schedule_post" })
	if !slices.Equal(order, []string{"enable_publishing", "schedule_post"}) {
		s.Errorf("the order is %v", order)
	}
}

func machineWaits[Tx any](s *stage[Tx]) {
	scope := store.Scope{Machine: "deal"}
	s.pauses(scope)
	id := s.offered()
	s.walClaimed()
	s.tick(48 * time.Hour)
	s.steps()
	s.in("deal", id, "OFFER_PENDING", 2)
	s.untouched("machine = 'deal'", 3)
	s.counts("fsm_deadlines WHERE machine = 'deal' AND lease_token IS NULL", 1)
	s.counts("fsm_outbox WHERE machine <> 'deal' AND state <> 'delivered'", 0)
	s.counts("fsm_deadlines WHERE machine = 'wal' AND due_at < '2026-01-03'", 0)
	s.unpauses(scope)
	s.steps()
	s.in("deal", id, "EXPIRED", 3)
}

func destinationWaits[Tx any](s *stage[Tx]) {
	scope := store.Scope{Destination: "kafka"}
	s.pauses(scope)
	s.offered()
	s.steps()
	s.only("notify_owner", 1)
	s.untouched("lane = 'kafka'", 2)
	s.unpauses(scope)
	s.steps()
	s.only("deal.events", 2)
}

// cleanupWaits pauses what the repeats of an effect begin with.
func cleanupWaits[Tx any](s *stage[Tx]) {
	s.script.answers("check_exists", download.Checked{})
	s.script.fails("download_object")
	s.create("download", download.Start{ImageID: "img", S3Key: "k", Bucket: "b"}, fsm.System())
	for range 2 {
		_, err := s.engine.Step(s.ctx)
		s.must(err)
	}
	s.only("download_object", 1)
	scope := store.Scope{Machine: "download", Effect: "remove_temp_file"}
	s.pauses(scope)
	s.tick(time.Minute)
	s.steps()
	s.only("remove_temp_file", 0)
	s.only("download_object", 1)
	s.unpauses(scope)
	_, err := s.engine.Step(s.ctx)
	s.must(err)
	s.only("remove_temp_file", 1)
	s.only("download_object", 2)
}

func pauseIsStored[Tx any](s *stage[Tx]) {
	scope := store.Scope{Destination: "kafka"}
	s.must(s.engine.Pause(s.ctx, scope, "ann", "the topic moves"))
	s.offered()
	for range 2 {
		s.restart()
		s.steps()
	}
	s.untouched("lane = 'kafka'", 2)
	list, err := s.engine.Pauses(s.ctx)
	s.must(err)
	if want := []store.Pause{{Scope: scope, Who: "ann", Why: "the topic moves", At: epoch}}; text(list) != text(want) {
		s.Errorf("the pauses are %s", text(list))
	}
	s.must(s.engine.Unpause(s.ctx, scope, "bob", "it has moved"))
	s.steps()
	s.only("deal.events", 2)
}

// unread is a store that can't say what is paused.
type unread[Tx any] struct{ store.Store[Tx] }

func (u unread[Tx]) Read(ctx context.Context, q store.Read) (store.Page, error) {
	if q.Kind == store.ReadPauses {
		return store.Page{}, store.Failed("read", errors.New("no route to host"))
	}
	return u.Store.Read(ctx, q)
}

// forgetful is a store that says what is paused once.
type forgetful[Tx any] struct {
	store.Store[Tx]
	asked bool
}

func (f *forgetful[Tx]) Read(ctx context.Context, q store.Read) (store.Page, error) {
	if q.Kind == store.ReadPauses && f.asked {
		return unread[Tx]{f.Store}.Read(ctx, q)
	}
	f.asked = f.asked || q.Kind == store.ReadPauses
	return f.Store.Read(ctx, q)
}

func lastPausesHold[Tx any](s *stage[Tx]) {
	s.pauses(store.Scope{Destination: "kafka"})
	s.engine = s.open(&forgetful[Tx]{Store: s.Store}, s.config)
	s.offered()
	s.steps()
	s.steps()
	s.only("notify_owner", 1)
	s.untouched("lane = 'kafka'", 2)
	if !s.log.has("the pauses can't be read") {
		s.Error("nothing is said")
	}
	// A worker that has never known the pauses begins nothing.
	if _, err := s.open(unread[Tx]{s.Store}, s.config).Step(s.ctx); !errors.Is(err, store.ErrStore) {
		s.Errorf("without the pauses the error is %v", err)
	}
}

// inlineWaits pauses an effect that is carried out within the transaction, in a process
// that has read the pauses before.
func inlineWaits[Tx any](s *stage[Tx]) {
	s.inlined(func() error { return nil })
	start := func(n string, records int) {
		s.Helper()
		s.create("download", download.Start{ImageID: n, S3Key: "k", Bucket: "b"}, fsm.System())
		s.untouched("effect = 'check_exists'", records)
	}
	start("img-1", 0)
	scope := store.Scope{Machine: "download", Effect: "check_exists"}
	s.pauses(scope)
	s.tick(time.Second)
	start("img-2", 1)
	s.unpauses(scope)
	s.tick(time.Second)
	start("img-3", 1)
}

func pauseOfNothing[Tx any](s *stage[Tx]) {
	for want, scope := range map[string]store.Scope{
		"there are [activate deal download registration unpack wal]":     {Machine: "deals"},
		`no effect for workers "notify"; there are [deal.events enable_`: {Machine: "deal", Effect: "notify"},
		`no effect for workers "ledger_deposit"`:                         {Machine: "deal", Effect: "ledger_deposit"},
		`no destination "notify_owner"; there are [`:                     {Destination: "notify_owner"},
		"a scope is a machine, an effect of a machine, or a destination": {Machine: "deal", Destination: "kafka"},
		"a scope is a machine, an effect":                                {Effect: "notify_owner"},
	} {
		if err := s.engine.Pause(s.ctx, scope, "ann", "to see"); err == nil || !strings.Contains(err.Error(), want) {
			s.Errorf("pause %s: %v, want %s", scope, err, want)
		}
	}
	scope := store.Scope{Machine: "deal"}
	for _, reason := range [][2]string{{"", "to see"}, {"ann", ""}} {
		if err := s.engine.Pause(s.ctx, scope, reason[0], reason[1]); err == nil || !strings.Contains(err.Error(), "who does it, and why") {
			s.Errorf("by %q, because %q: %v", reason[0], reason[1], err)
		}
	}
	s.counts("fsm_pauses", 0)
	s.wants(s.engine.Unpause(s.ctx, scope, "ann", "to see"), engine.ErrNotPaused)
	s.must(s.engine.Transact(s.ctx, func(ctx context.Context, _ *engine.Tx[Tx]) error {
		s.wants(s.engine.Pause(ctx, scope, "ann", "to see"), engine.ErrNested)
		s.wants(s.engine.Unpause(ctx, scope, "ann", "to see"), engine.ErrNested)
		return nil
	}))
}
