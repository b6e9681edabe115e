package storetest

import (
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

func pauses[Tx any]() []storeCase[Tx] {
	return []storeCase[Tx]{
		{"APauseIsReadBackUnchanged", pauseIsReadBack[Tx]},
		{"ASecondPauseReplacesTheFirst", pauseAgain[Tx]},
		{"AnUnpauseSaysWhetherThereWasOne", unpause[Tx]},
		{"AnUnpauseEndsTheWait", unpauseEndsWait[Tx]},
		{"AnInvalidPauseIsRefused", noScope[Tx]},
	}
}

// examplePauses returns pauses of each kind, in the order in which they are read.
func examplePauses() []store.Pause {
	var list []store.Pause
	for _, s := range []store.Scope{
		{Destination: "kafka"}, {Machine: "deal"}, {Machine: "deal", Effect: "deal.events"}, {Machine: "deal", Effect: "notify_owner"}, {Machine: "wal"},
	} {
		list = append(list, store.Pause{Scope: s, Who: "ann", Why: "the bank's is away", At: StartTime})
	}
	return list
}

// pause stores pauses, the last first.
func (f *Fixture[Tx]) pause(list ...store.Pause) {
	f.Helper()
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) error {
		for i := range list {
			if err := f.Store.Pause(f.Context(), tx, list[len(list)-1-i]); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (f *Fixture[Tx]) unpause(s store.Scope) (there bool) {
	f.Helper()
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) (err error) {
		there, err = f.Store.Unpause(f.Context(), tx, s)
		return err
	}))
	return there
}

// wantPauses fails the test unless exactly these pauses are stored.
func (f *Fixture[Tx]) wantPauses(want []store.Pause) {
	f.Helper()
	page, err := f.Reopen(f.T).Read(f.Context(), store.Read{Kind: store.ReadPauses})
	f.Must(err)
	if Text(page.Pauses) != Text(want) {
		f.Fatalf("there are %s\nwant %s", Text(page.Pauses), Text(want))
	}
}

func pauseIsReadBack[Tx any](f *Fixture[Tx]) {
	f.wantPauses(nil)
	f.pause(examplePauses()...)
	f.wantPauses(examplePauses())
}

func pauseAgain[Tx any](f *Fixture[Tx]) {
	list := examplePauses()
	f.pause(list...)
	list[2].Who, list[2].Why, list[2].At = "bob", "the topic is gone", StartTime.Add(time.Microsecond)
	f.pause(list[2])
	f.wantPauses(list)
}

func unpause[Tx any](f *Fixture[Tx]) {
	list := examplePauses()
	f.pause(list...)
	for i, want := range []bool{true, false} {
		if there := f.unpause(list[2].Scope); there != want {
			f.Errorf("unpause %d: there was one: %v", i+1, there)
		}
	}
	f.wantPauses(append(list[:2:2], list[3:]...))
}

func unpauseEndsWait[Tx any](f *Fixture[Tx]) {
	p := examplePauses()[0]
	f.pause(p)
	f.wantWoken(func(int) { f.unpause(p.Scope) })
}

func noScope[Tx any](f *Fixture[Tx]) {
	for name, p := range map[string]store.Pause{
		"nothing":                   {Who: "ann", Why: "to see"},
		"an effect of no machine":   {Scope: store.Scope{Effect: "x"}, Who: "ann", Why: "to see"},
		"a machine and destination": {Scope: store.Scope{Machine: "deal", Destination: "x"}, Who: "ann", Why: "to see"},
		"without a name":            {Scope: store.Scope{Machine: "deal"}, Why: "to see"},
		"without a reason":          {Scope: store.Scope{Machine: "deal"}, Who: "ann"},
	} {
		p.At = StartTime
		if err := f.Store.InTx(f.Context(), func(tx Tx) error { return f.Store.Pause(f.Context(), tx, p) }); err == nil {
			f.Errorf("%s can be paused", name)
		}
	}
	f.wantPauses(nil)
}
