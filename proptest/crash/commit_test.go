package crash_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/adapters/postgres"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// Connections that are lost in mid-commit.

// cuts are the two ways to lose a connection while a commit is under way, and
// whether the commit happens. The worker cannot tell which it was.
var cuts = map[string]struct {
	lost     proxytest.Direction
	happened bool
}{
	"the commit is lost": {proxytest.Request, false},
	"its answer is lost": {proxytest.Answer, true},
}

// brittle is a world whose first engine can lose its connection while it commits. It has
// run each of the steps below before, so that every statement is prepared.
type brittle struct {
	*world[postgresTx]
	engine *engine.Engine[postgresTx]
	proxy  *proxytest.Proxy
	store  *faultyStore[postgresTx]
}

func newBrittle(t *testing.T) *brittle {
	dsn := pgtest.DSN(t)
	p := pgtest.Proxy(t, dsn)
	w := newWorld(t, postgresIn(dsn, pgtest.Schema(t, dsn), func(c *pgxpool.Config) {
		c.MaxConns = 1 // what is cut is what holds it
		c.ConnConfig.DialFunc = p.Dial
	}))
	b := &brittle{w, nil, p, &faultyStore[postgresTx]{Store: w.store()}}
	b.engine = w.engineOn(b.store, deal.Define[postgresTx](nil, deal.DefaultParams()))
	w.handle = func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Effect == "generate_deposit_address" {
			return fired(deal.AddressReady{DepositAddress: "a-" + d.Record})
		}
		return nil, nil
	}
	id := b.accepted()
	w.works(b.engine)
	_, err := b.engine.Fire(w.Context(), "deal", id, deal.DepositConfirmed{TxHash: "warm", AmountNano: 100}, engine.Call{By: system, IdempotencyKey: "warm"})
	must(t, err)
	w.works(b.engine)
	return b
}

// accepted makes a deal whose deposit address is still to be made.
func (b *brittle) accepted() string {
	b.Helper()
	id := b.id()
	_, err := b.engine.Create(b.Context(), "deal", id, deal.Create{OwnerID: 8, PriceNano: 100}, engine.Call{By: advertiser})
	must(b.T, err)
	for _, f := range []engine.Firing{{Event: deal.SubmitOffer{}, Call: engine.Call{By: advertiser, IdempotencyKey: "offer " + id}}, {Event: deal.Accept{}, Call: engine.Call{By: owner}}} {
		_, err := b.engine.Fire(b.Context(), "deal", id, f.Event, f.Call)
		must(b.T, err)
	}
	return id
}

// cutOnce breaks the connection at the next commit that is written together with
// what save sees.
func (b *brittle) cutOnce(d proxytest.Direction, at func(commits []store.Commit) bool) {
	b.store.save = func(commits []store.Commit) error {
		if at(commits) {
			b.store.save = nil
			b.proxy.CutNext(d)
		}
		return nil
	}
}

// history fails the test unless these transitions, and no others, were taken.
func (b *brittle) history(id string, want ...string) {
	b.Helper()
	if got := b.transitions(b.engine, "deal", id); !slices.Equal(got, want) {
		b.Errorf("the history tells %v, want %v", got, want)
	}
}

// TestOutcomeUnknown: a caller that loses the connection during the commit gets ErrStore.
// The same key then answers, with a replay if the event was stored.
func TestOutcomeUnknown(t *testing.T) {
	for name, cut := range cuts {
		t.Run("in one round trip, "+name, func(t *testing.T) {
			b := newBrittle(t)
			id := b.id()
			_, err := b.engine.Create(t.Context(), "deal", id, deal.Create{OwnerID: 8, PriceNano: 100}, engine.Call{By: advertiser})
			must(t, err)
			b.cutOnce(cut.lost, func(c []store.Commit) bool { return c[len(c)-1].Last })
			b.unknown(id, 2, cut.happened, func() (engine.Outcome, error) {
				return b.engine.Fire(t.Context(), "deal", id, deal.SubmitOffer{}, engine.Call{By: advertiser, IdempotencyKey: "k"})
			})
			b.history(id, "create", "submit_offer")
		})
		t.Run("after a handler, "+name, func(t *testing.T) {
			b := newBrittle(t)
			id := b.accepted()
			b.works(b.engine)
			b.inTx = func(context.Context, postgresTx, fsm.Dispatch) error {
				b.inTx = nil
				b.proxy.CutNext(cut.lost) // the commit is what comes next
				return nil
			}
			b.unknown(id, 5, cut.happened, func() (engine.Outcome, error) {
				return b.engine.Fire(t.Context(), "deal", id, deal.DepositConfirmed{TxHash: "t", AmountNano: 100}, engine.Call{By: system, IdempotencyKey: "k"})
			})
			b.history(id, "create", "submit_offer", "accept", "address_ready", "fund")
		})
	}
}

// unknown fires the event whose commit is interrupted, and then again.
func (b *brittle) unknown(id string, version int64, happened bool, fire firing) {
	b.Helper()
	_, err := fire()
	var unknown *postgres.UnknownOutcomeError
	if !errors.Is(err, store.ErrStore) || !errors.As(err, &unknown) {
		b.Fatalf("the caller is told %v, want an unknown outcome", err)
	}
	for again := range 2 {
		o, err := fire()
		must(b.T, err)
		if want := happened || again > 0; o.Replayed != want || o.Version != version {
			b.Errorf("again %d: replayed is %t at version %d, want %t at version %d", again+1, o.Replayed, o.Version, want, version)
		}
	}
	b.works(b.engine)
	if n := b.count("fsm_outbox WHERE state <> 'delivered'"); n != 0 {
		b.Errorf("%d messages are not delivered", n)
	}
	if n := b.count("fsm_keys WHERE record_id = '" + id + "' AND key LIKE 'call:%:k'"); n != 1 {
		b.Errorf("the key is there %d times", n)
	}
}

// TestAnswerOfUnknownOutcome: a worker that loses the connection while it stores an
// answer neither loses the answer nor fires it twice, nor repeats the effect.
func TestAnswerOfUnknownOutcome(t *testing.T) {
	for name, cut := range cuts {
		t.Run(name, func(t *testing.T) {
			b := newBrittle(t)
			before := b.called("generate_deposit_address")
			id := b.accepted()
			reached := false
			b.cutOnce(cut.lost, func(c []store.Commit) bool {
				reached = c[0].Task != nil && len(c[0].Steps) > 0
				return reached
			})
			b.works(b.engine)
			if !reached {
				t.Fatal("no answer was stored")
			}
			b.history(id, "create", "submit_offer", "accept", "address_ready")
			if n := b.called("generate_deposit_address") - before; n != 1 {
				t.Errorf("the address was asked for %d times", n)
			}
			if n := b.count("fsm_outbox WHERE state <> 'delivered'"); n != 0 {
				t.Errorf("%d messages are not delivered", n)
			}
		})
	}
}
