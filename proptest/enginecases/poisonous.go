package enginecases

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func poisonousMessages[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"ItsNeighboursAreDeliveredThoughTheyAreNeverRepeated", func(f *fixture[Tx]) { f.runPoisonous(fsm.RetryPolicy{}) }},
		{"ItUsesItsOwnAttemptsUp", func(f *fixture[Tx]) { f.runPoisonous(fsm.RetryPolicy{Attempts: 2}) }},
		{"OtherWorkGoesOnBesideASuspect", besideASuspect[Tx]},
	}
}

var errDead = errors.New("the process is dead")

// process is the store of one process. After kill nothing is read or written through it.
type process[Tx any] struct {
	store.Store[Tx]
	dead   chan struct{} // closed by kill
	once   sync.Once
	stored chan struct{} // holds a value after something was stored
}

func newProcess[Tx any](db store.Store[Tx]) *process[Tx] {
	return &process[Tx]{Store: db, dead: make(chan struct{}), stored: make(chan struct{}, 1)}
}

func (p *process[Tx]) kill() { p.once.Do(func() { close(p.dead) }) }

func (p *process[Tx]) isDead() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

// Claim claims while the process is alive.
func (p *process[Tx]) Claim(ctx context.Context, c store.Claim) ([]store.Task, error) {
	if p.isDead() {
		return nil, errDead
	}
	return p.Store.Claim(ctx, c)
}

// Wait returns at once without news, so that the worker polls.
func (p *process[Tx]) Wait(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

// InTx runs a transaction while the process is alive.
func (p *process[Tx]) InTx(ctx context.Context, f func(Tx) error) error {
	if p.isDead() {
		return errDead
	}
	err := p.Store.InTx(ctx, func(tx Tx) error {
		if err := f(tx); err != nil || !p.isDead() {
			return err
		}
		return errDead
	})
	select {
	case p.stored <- struct{}{}:
	default: // there is a value already
	}
	return err
}

// withPolicy is a machine whose effects all have one retry policy.
type withPolicy[Tx any] struct {
	engine.Machine[Tx]
	policy fsm.RetryPolicy
}

// Effects returns the effects of the machine with the policy.
func (r withPolicy[Tx]) Effects() (list []fsm.EffectInfo) {
	for _, info := range r.Machine.Effects() {
		info.HasRetry, info.Retry = true, r.policy
		list = append(list, info)
	}
	return list
}

// runToEnd runs a worker in a process of its own until the process is dead or no message
// is open. It reports whether no message is open.
func (f *fixture[Tx]) runToEnd(p *process[Tx], policy fsm.RetryPolicy) (done bool) {
	f.Helper()
	var machines []engine.Machine[Tx]
	for _, m := range f.machines() {
		machines = append(machines, handled[Tx]{Machine: withPolicy[Tx]{m, policy}, handlers: &f.handlers})
	}
	c := f.config
	c.Concurrency, c.PollInterval = 32, time.Hour
	e, err := engine.New[Tx](p, c, machines...)
	f.Must(err)
	ctx, stop := context.WithCancel(f.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = e.Run(ctx) }) // it returns nil
	for !done && !p.isDead() {
		select {
		case <-p.dead:
		case <-p.stored:
			done = f.Count(f.T, "fsm_outbox WHERE state NOT IN ('delivered', 'dead_letter')") == 0
		}
	}
	stop()
	running.Wait()
	return done
}

// runPoisonous has a message kill each process that carries it out, the first two with
// ten other messages under way. It starts processes until no message is open.
func (f *fixture[Tx]) runPoisonous(policy fsm.RetryPolicy) {
	const healthy = 10
	var ids []string
	for range healthy + 1 {
		ids = append(ids, f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser))
	}
	poison := ids[healthy/2]
	deaths := 0
	for done := false; !done; f.advance(time.Minute) {
		p := newProcess(f.Store)
		var all sync.WaitGroup // of the messages that are under way together
		all.Add(healthy + 1)
		together := deaths < 2
		var suspects atomic.Int64
		f.handlers.set("deal.events", func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
			if together {
				all.Done()
				all.Wait()
			} else {
				if suspects.Add(1) > 1 {
					f.Error("a process has two suspects under way")
				}
				defer suspects.Add(-1)
			}
			if d.Record == poison {
				p.kill()
			}
			if together {
				<-p.dead
			}
			return nil, nil
		})
		if done = f.runToEnd(p, policy); !done {
			deaths++
		}
		if deaths > 10 {
			f.Fatal("processes die for ever")
		}
	}
	if want := policy.Attempts + 3; deaths != want {
		f.Errorf("%d processes died, want %d: the first two do not count", deaths, want)
	}
	f.WantCount("fsm_outbox WHERE state = 'delivered'", healthy)
	dead, err := f.engine.DeadLetters(f.Context(), store.Filter{}, "", 100)
	f.Must(err)
	if len(dead) != 1 || dead[0].RecordID != poison || dead[0].Cut != int64(deaths) {
		f.Fatalf("the dead letters are %s", storetest.Text(dead))
	}
	f.Must(f.engine.Requeue(f.Context(), dead[0].MessageID, "ann", "repaired"))
	if got := f.ReadMessage(dead[0].MessageID); got.Attempts != 0 || got.Cut != 0 {
		f.Errorf("a requeued message is %s", storetest.Text(got))
	}
}

// besideASuspect has a suspect run until a message that is no suspect was carried out.
// The next suspect is claimed when the first is settled, not before.
func besideASuspect[Tx any](f *fixture[Tx]) {
	for range 2 {
		f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	}
	f.dieHolding()
	f.dieHolding()
	f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	var suspects atomic.Int64
	fresh := make(chan struct{})
	f.handlers.set("deal.events", func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Attempt == 1 {
			close(fresh)
			return nil, nil
		}
		if suspects.Add(1) > 1 {
			f.Error("two suspects are under way")
		}
		defer suspects.Add(-1)
		<-fresh
		return nil, nil
	})
	f.runToEnd(newProcess(f.Store), fsm.RetryPolicy{})
	f.WantCount("fsm_outbox WHERE state = 'delivered'", 3)
}
