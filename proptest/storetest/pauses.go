package storetest

import (
	"context"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

func pauses[Tx any]() []test[Tx] {
	return []test[Tx]{
		{"APauseComesBackAsItWas", pauseComesBack[Tx]},
		{"ASecondPauseTakesThePlaceOfTheFirst", pauseAgain[Tx]},
		{"AnUnpauseSaysWhetherThereWasOne", unpause[Tx]},
		{"AnUnpauseEndsTheWait", unpauseWakes[Tx]},
		{"WhatIsNoScopeIsRefused", noScope[Tx]},
	}
}

// pausesOf are pauses of each kind, in the order in which they are read.
func pausesOf() []store.Pause {
	var list []store.Pause
	for _, s := range []store.Scope{
		{Destination: "kafka"}, {Machine: "deal"}, {Machine: "deal", Effect: "deal.events"}, {Machine: "deal", Effect: "notify_owner"}, {Machine: "wal"},
	} {
		list = append(list, store.Pause{Scope: s, Who: "ann", Why: "the bank's is away", At: epoch})
	}
	return list
}

// pause stores pauses, the last first.
func (b *bench[Tx]) pause(list ...store.Pause) {
	b.Helper()
	b.must(b.Store.InTx(b.ctx, func(tx Tx) error {
		for i := range list {
			if err := b.Store.Pause(b.ctx, tx, list[len(list)-1-i]); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (b *bench[Tx]) unpause(s store.Scope) (there bool) {
	b.Helper()
	b.must(b.Store.InTx(b.ctx, func(tx Tx) (err error) {
		there, err = b.Store.Unpause(b.ctx, tx, s)
		return err
	}))
	return there
}

// paused fails the test unless these are the pauses.
func (b *bench[Tx]) paused(want []store.Pause) {
	b.Helper()
	page, err := b.Reopen(b.T).Read(b.ctx, store.Read{Kind: store.ReadPauses})
	b.must(err)
	if text(page.Pauses) != text(want) {
		b.Fatalf("there are %s\nwant %s", text(page.Pauses), text(want))
	}
}

func pauseComesBack[Tx any](b *bench[Tx]) {
	b.paused(nil)
	b.pause(pausesOf()...)
	b.paused(pausesOf())
}

func pauseAgain[Tx any](b *bench[Tx]) {
	list := pausesOf()
	b.pause(list...)
	list[2].Who, list[2].Why, list[2].At = "bob", "the topic is gone", epoch.Add(time.Microsecond)
	b.pause(list[2])
	b.paused(list)
}

func unpause[Tx any](b *bench[Tx]) {
	list := pausesOf()
	b.pause(list...)
	for i, want := range []bool{true, false} {
		if there := b.unpause(list[2].Scope); there != want {
			b.Errorf("unpause %d: there was one: %v", i+1, there)
		}
	}
	b.paused(append(list[:2:2], list[3:]...))
}

func unpauseWakes[Tx any](b *bench[Tx]) {
	p := pausesOf()[0]
	b.pause(p)
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	for b.Store.Wait(ctx, short) == nil && !b.quiet(ctx) { // older commits wake it too
		continue
	}
	woken := make(chan error, 1)
	go func() { woken <- b.Store.Wait(ctx, time.Hour) }()
	for {
		b.unpause(p.Scope)
		select {
		case err := <-woken:
			b.must(err)
			return
		case <-time.After(short):
		}
	}
}

func noScope[Tx any](b *bench[Tx]) {
	for name, p := range map[string]store.Pause{
		"nothing":                   {Who: "ann", Why: "to see"},
		"an effect of no machine":   {Scope: store.Scope{Effect: "x"}, Who: "ann", Why: "to see"},
		"a machine and destination": {Scope: store.Scope{Machine: "deal", Destination: "x"}, Who: "ann", Why: "to see"},
		"without a name":            {Scope: store.Scope{Machine: "deal"}, Why: "to see"},
		"without a reason":          {Scope: store.Scope{Machine: "deal"}, Who: "ann"},
	} {
		p.At = epoch
		if err := b.Store.InTx(b.ctx, func(tx Tx) error { return b.Store.Pause(b.ctx, tx, p) }); err == nil {
			b.Errorf("%s can be paused", name)
		}
	}
	b.paused(nil)
}
