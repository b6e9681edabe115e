package enginecases

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func pausing[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"AnEffectWaitsAndTheOthersGoOn", effectWaits[Tx]},
		{"WhatIsBehindAPausedMessageWaits", behindWaits[Tx]},
		{"AMachineWaitsWithItsDeadlines", machineWaits[Tx]},
		{"ADestinationWaitsInAllMachines", destinationWaits[Tx]},
		{"AnEffectWaitsForItsCleanup", cleanupWaits[Tx]},
		{"APauseHoldsInEveryProcessAndAfterARestart", pauseIsStored[Tx]},
		{"WhenTheReadFailsTheLastPausesHold", lastPausesHold[Tx]},
		{"AnInlineEffectIsLeftToAWorker", inlineWaits[Tx]},
		{"AnUnknownScopeIsRefused", pauseOfNothing[Tx]},
	}
}

// pauseScope pauses a scope from another process.
func (f *fixture[Tx]) pauseScope(scope store.Scope) {
	f.Helper()
	f.Must(f.newEngine(f.Reopen(f.T), f.config).Pause(f.Context(), scope, "ann", "the bank is away"))
}

func (f *fixture[Tx]) unpauseScope(scope store.Scope) {
	f.Helper()
	f.Must(f.newEngine(f.Reopen(f.T), f.config).Unpause(f.Context(), scope, "ann", "it is back"))
}

// wantUnclaimed fails the test unless want messages were never claimed.
func (f *fixture[Tx]) wantUnclaimed(where string, want int) {
	f.Helper()
	f.WantCount("fsm_outbox WHERE state = 'pending' AND attempts = 0 AND "+where, want)
}

func effectWaits[Tx any](f *fixture[Tx]) {
	scope := store.Scope{Machine: "deal", Effect: "notify_owner"}
	f.pauseScope(scope)
	f.offered()
	f.stepAll()
	f.wantCalls("deal.events", 2)
	f.wantUnclaimed("effect = 'notify_owner'", 1)
	if !f.log.has("msg=paused machine=deal effect=notify_owner") || !f.log.has("who=ann why=\"the bank is away\"") || f.counted(engine.MetricPaused) == 0 {
		f.Error("the pause is neither logged nor measured")
	}
	if f.counted(engine.MetricUnknown) != 0 {
		f.Error("it counts as unknown work")
	}
	f.unpauseScope(scope)
	f.stepAll()
	f.wantCalls("notify_owner", 1)
	if !f.log.has("no longer paused") || !f.log.has("it is back") {
		f.Error("the end of the pause is not logged")
	}
}

// scheduled creates a deal that requests two effects of one destination.
func (f *fixture[Tx]) scheduled() {
	f.Helper()
	id := f.paid()
	f.mustFire("deal", id, deal.SubmitDraft{Creative: `{"text":"x"}`}, storetest.Owner)
	f.mustFire("deal", id, deal.Approve{}, storetest.Advertiser)
	f.mustFire("deal", id, deal.SetPublishTime{PublishAt: f.Now().Add(time.Hour)}, storetest.Owner)
}

func behindWaits[Tx any](f *fixture[Tx]) {
	scope := store.Scope{Machine: "deal", Effect: "enable_publishing"}
	f.pauseScope(scope)
	f.scheduled()
	f.stepAll()
	f.wantCalls("schedule_post", 0)
	f.unpauseScope(scope)
	f.stepAll()
	order := slices.DeleteFunc(f.handlers.order(), func(name string) bool { return name != "enable_publishing" && name != "schedule_post" })
	if !slices.Equal(order, []string{"enable_publishing", "schedule_post"}) {
		f.Errorf("the order is %v", order)
	}
}

func machineWaits[Tx any](f *fixture[Tx]) {
	scope := store.Scope{Machine: "deal"}
	f.pauseScope(scope)
	id := f.offered()
	f.walClaimed()
	f.advance(48 * time.Hour)
	f.stepAll()
	f.wantState("deal", id, "OFFER_PENDING", 2)
	f.wantUnclaimed("machine = 'deal'", 3)
	f.WantCount("fsm_deadlines WHERE machine = 'deal' AND lease_token IS NULL", 1)
	f.WantCount("fsm_outbox WHERE machine <> 'deal' AND state <> 'delivered'", 0)
	f.WantCount("fsm_deadlines WHERE machine = 'wal' AND due_at < '2026-01-03'", 0)
	f.unpauseScope(scope)
	f.stepAll()
	f.wantState("deal", id, "EXPIRED", 3)
}

func destinationWaits[Tx any](f *fixture[Tx]) {
	scope := store.Scope{Destination: "kafka"}
	f.pauseScope(scope)
	f.offered()
	f.stepAll()
	f.wantCalls("notify_owner", 1)
	f.wantUnclaimed("destination = 'kafka'", 2)
	f.unpauseScope(scope)
	f.stepAll()
	f.wantCalls("deal.events", 2)
}

// cleanupWaits pauses the cleanup of an effect.
func cleanupWaits[Tx any](f *fixture[Tx]) {
	f.handlers.answer("check_exists", download.Checked{})
	f.handlers.fail("download_object")
	f.mustCreate("download", download.Start{ImageID: "img", S3Key: "k", Bucket: "b"}, fsm.System())
	for range 2 {
		_, err := f.engine.Step(f.Context())
		f.Must(err)
	}
	f.wantCalls("download_object", 1)
	scope := store.Scope{Machine: "download", Effect: "remove_temp_file"}
	f.pauseScope(scope)
	f.advance(time.Minute)
	f.stepAll()
	f.wantCalls("remove_temp_file", 0)
	f.wantCalls("download_object", 1)
	f.unpauseScope(scope)
	_, err := f.engine.Step(f.Context())
	f.Must(err)
	f.wantCalls("remove_temp_file", 1)
	f.wantCalls("download_object", 2)
}

func pauseIsStored[Tx any](f *fixture[Tx]) {
	scope := store.Scope{Destination: "kafka"}
	f.Must(f.engine.Pause(f.Context(), scope, "ann", "the topic moves"))
	f.offered()
	for range 2 {
		f.restart()
		f.stepAll()
	}
	f.wantUnclaimed("destination = 'kafka'", 2)
	list, err := f.engine.Pauses(f.Context())
	f.Must(err)
	if want := []store.Pause{{Scope: scope, Who: "ann", Why: "the topic moves", At: storetest.StartTime}}; storetest.Text(list) != storetest.Text(want) {
		f.Errorf("the pauses are %s", storetest.Text(list))
	}
	f.Must(f.engine.Unpause(f.Context(), scope, "bob", "it has moved"))
	f.stepAll()
	f.wantCalls("deal.events", 2)
}

// noPauses is a store that can't read the pauses.
type noPauses[Tx any] struct{ store.Store[Tx] }

func (u noPauses[Tx]) Read(ctx context.Context, q store.Read) (store.Page, error) {
	if q.Kind == store.ReadPauses {
		return store.Page{}, store.Failed("read", errors.New("no route to host"))
	}
	return u.Store.Read(ctx, q)
}

// pausesOnce is a store that can read the pauses once.
type pausesOnce[Tx any] struct {
	store.Store[Tx]
	asked bool
}

func (f *pausesOnce[Tx]) Read(ctx context.Context, q store.Read) (store.Page, error) {
	if q.Kind == store.ReadPauses && f.asked {
		return noPauses[Tx]{f.Store}.Read(ctx, q)
	}
	f.asked = f.asked || q.Kind == store.ReadPauses
	return f.Store.Read(ctx, q)
}

func lastPausesHold[Tx any](f *fixture[Tx]) {
	f.pauseScope(store.Scope{Destination: "kafka"})
	f.engine = f.newEngine(&pausesOnce[Tx]{Store: f.Store}, f.config)
	f.offered()
	f.stepAll()
	f.stepAll()
	f.wantCalls("notify_owner", 1)
	f.wantUnclaimed("destination = 'kafka'", 2)
	if !f.log.has("the pauses can't be read") {
		f.Error("nothing is said")
	}
	// A worker that has never known the pauses begins nothing.
	if _, err := f.newEngine(noPauses[Tx]{f.Store}, f.config).Step(f.Context()); !errors.Is(err, store.ErrStore) {
		f.Errorf("without the pauses the error is %v", err)
	}
}

// inlineWaits pauses an inline effect, in a process that has read the pauses before.
func inlineWaits[Tx any](f *fixture[Tx]) {
	f.inlineCheck(func() error { return nil })
	start := func(n string, records int) {
		f.Helper()
		f.mustCreate("download", download.Start{ImageID: n, S3Key: "k", Bucket: "b"}, fsm.System())
		f.wantUnclaimed("effect = 'check_exists'", records)
	}
	start("img-1", 0)
	scope := store.Scope{Machine: "download", Effect: "check_exists"}
	f.pauseScope(scope)
	f.advance(time.Second)
	start("img-2", 1)
	f.unpauseScope(scope)
	f.advance(time.Second)
	start("img-3", 1)
}

func pauseOfNothing[Tx any](f *fixture[Tx]) {
	for want, scope := range map[string]store.Scope{
		"there are [activate deal download registration unpack wal]":     {Machine: "deals"},
		`no effect for workers "notify"; there are [deal.events enable_`: {Machine: "deal", Effect: "notify"},
		`no effect for workers "ledger_deposit"`:                         {Machine: "deal", Effect: "ledger_deposit"},
		`no destination "notify_owner"; there are [`:                     {Destination: "notify_owner"},
		"a scope is a machine, an effect of a machine, or a destination": {Machine: "deal", Destination: "kafka"},
		"a scope is a machine, an effect":                                {Effect: "notify_owner"},
	} {
		if err := f.engine.Pause(f.Context(), scope, "ann", "to see"); err == nil || !strings.Contains(err.Error(), want) {
			f.Errorf("pause %s: %v, want %s", scope, err, want)
		}
	}
	scope := store.Scope{Machine: "deal"}
	for _, reason := range [][2]string{{"", "to see"}, {"ann", ""}} {
		if err := f.engine.Pause(f.Context(), scope, reason[0], reason[1]); err == nil || !strings.Contains(err.Error(), "who and why must not be empty") {
			f.Errorf("by %q, because %q: %v", reason[0], reason[1], err)
		}
	}
	f.WantCount("fsm_pauses", 0)
	f.WantError(f.engine.Unpause(f.Context(), scope, "ann", "to see"), engine.ErrNotPaused)
	f.Must(f.engine.Transact(f.Context(), func(ctx context.Context, _ *engine.Tx[Tx]) error {
		f.WantError(f.engine.Pause(ctx, scope, "ann", "to see"), engine.ErrNested)
		f.WantError(f.engine.Unpause(ctx, scope, "ann", "to see"), engine.ErrNested)
		return nil
	}))
}
