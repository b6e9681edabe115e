package attacks

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// at is the time of every step of the fixture.
var at = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// clock stands still.
type clock struct{}

// Now is the time of the fixture.
func (clock) Now() time.Time { return at }

// mute is a machine whose effects within the transaction succeed and do nothing.
type mute[Tx any] struct{ engine.Machine[Tx] }

// HandleTx does nothing.
func (mute[Tx]) HandleTx(context.Context, Tx, fsm.Dispatch) error { return nil }

// scenario is a record of the fixture: what was fired at it, creation first.
type scenario struct {
	name, machine string
	fires         []fire
}

type fire struct {
	event fsm.Payload
	by    fsm.Caller
}

// Who acts in the fixture.
var (
	advertiser = deal.ByAdvertiser(7).Caller()
	owner      = deal.ByOwner(8).Caller()
	external   = registration.ByExternal("x-1").Caller()
)

// scenarios returns the records of the fixture, by the names that attacks use.
func scenarios() []scenario {
	draft := []fire{{deal.Create{OwnerID: 8, PriceNano: 100}, advertiser}}
	pending := after(draft, fire{deal.SubmitOffer{}, advertiser})
	accepted := after(pending, fire{deal.Accept{}, owner})
	unregistered := func(node string) []fire { return []fire{{registration.Create{NodeID: node}, external}} }
	register := fire{registration.Register{
		Payload:      fsm.Some(fsm.JSON(`{"node":1}`)),
		DeploymentID: fsm.Some("d"), Environment: fsm.Some("e"), NetworkID: fsm.Some("n"),
		ConsulServiceID: fsm.Some("c"), ConsulServiceName: fsm.Some("s"), PostgresRecord: fsm.Some(fsm.JSON(`{"k":1}`)),
	}, external}
	validating := func(node string) []fire { return after(unregistered(node), register) }
	applied := func(node string) []fire {
		return after(validating(node), fire{registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed}, fsm.System()},
			fire{registration.PostgresSucceeded{PostgresApplied: true}, fsm.System()})
	}
	consulFailed := fire{registration.ConsulFailed{ErrorType: registration.FailureTypeTimeout, ConsulError: "timeout"}, fsm.System()}
	list := []scenario{
		{"draft", "deal", draft}, {"offered", "deal", pending}, {"accepted", "deal", accepted},
		{"unregistered", "registration", unregistered("a")}, {"validating", "registration", validating("b")},
		{"applied", "registration", applied("c")}, {"partial", "registration", after(applied("d"), consulFailed)},
	}
	payable := func(name string) []fire {
		return after(accepted, fire{deal.AddressReady{DepositAddress: name}, fsm.System()})
	}
	funded := func(name string) []fire {
		return after(payable(name), fire{deal.DepositConfirmed{TxHash: "tx-" + name, AmountNano: 100}, fsm.System()})
	}
	submitted := func(name string) []fire { return after(funded(name), fire{deal.SubmitDraft{Creative: `{}`}, owner}) }
	approved := func(name string) []fire { return after(submitted(name), fire{deal.Approve{}, advertiser}) }
	return append(list,
		scenario{"payable", "deal", payable("payable")},
		scenario{"funded", "deal", funded("funded")},
		scenario{"half_cancelled", "deal", after(funded("half_cancelled"), fire{deal.MutualCancel{}, owner})},
		scenario{"submitted", "deal", submitted("submitted")},
		scenario{"approved", "deal", approved("approved")},
		scenario{"disputed", "deal", after(submitted("disputed"), fire{deal.Dispute{Complaint: "late"}, advertiser})},
	)
}

// after is a list of its own.
func after(fires []fire, more ...fire) []fire {
	return append(append([]fire(nil), fires...), more...)
}

// id is that of the n-th record.
func id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// Prepare makes the tables and has an engine write the records. It returns their ids
// by name.
func Prepare[Tx any](ctx context.Context, db store.Store[Tx]) (map[string]string, error) {
	e, err := engine.New(db, engine.Config{Clock: clock{}, Logger: slog.New(slog.DiscardHandler)},
		engine.Machine[Tx](mute[Tx]{deal.Define[Tx](nil, deal.DefaultParams())}),
		engine.Machine[Tx](mute[Tx]{registration.Define[Tx](nil, registration.DefaultParams())}))
	if err != nil {
		return nil, err
	}
	if err := e.Migrate(ctx); err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for i, s := range scenarios() {
		ids[s.name] = id(i + 1)
		for n, f := range s.fires {
			fire := e.Fire
			if n == 0 {
				fire = e.Create
			}
			if _, err := fire(ctx, s.machine, ids[s.name], f.event, engine.Call{By: f.by}); err != nil {
				return nil, fmt.Errorf("record %s: %w", s.name, err)
			}
		}
	}
	return ids, nil
}

// fill puts ids in the place of names.
func fill(statement string, ids map[string]string) string {
	for name, id := range ids {
		statement = strings.ReplaceAll(statement, "{"+name+"}", "'"+id+"'")
	}
	return statement
}
