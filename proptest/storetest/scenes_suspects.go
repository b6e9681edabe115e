package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func poisonous[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"ItsNeighboursAreDeliveredThoughTheyAreNeverRepeated", func(s *stage[Tx]) { s.poisoned(fsm.RetryPolicy{}) }},
		{"ItUsesItsOwnAttemptsUp", func(s *stage[Tx]) { s.poisoned(fsm.RetryPolicy{Attempts: 2}) }},
		{"OtherWorkGoesOnBesideASuspect", besideASuspect[Tx]},
	}
}

var errDead = errors.New("the process is dead")

// process is a store as one process has it: when that is dead, nothing is read or
// written any more.
type process[Tx any] struct {
	store.Store[Tx]
	dead  chan struct{} // closed by kill
	once  sync.Once
	moved chan struct{} // holds a value after something was stored
}

func newProcess[Tx any](db store.Store[Tx]) *process[Tx] {
	return &process[Tx]{Store: db, dead: make(chan struct{}), moved: make(chan struct{}, 1)}
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

// Claim claims while the process lives.
func (p *process[Tx]) Claim(ctx context.Context, c store.Claim) ([]store.Task, error) {
	if p.isDead() {
		return nil, errDead
	}
	return p.Store.Claim(ctx, c)
}

// Wait brings no news: what the worker does it finds for itself.
func (p *process[Tx]) Wait(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

// InTx writes while the process lives.
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
	case p.moved <- struct{}{}:
	default: // there is a value already
	}
	return err
}

// repeating is a machine all of whose messages are repeated by one policy.
type repeating[Tx any] struct {
	engine.Machine[Tx]
	policy fsm.RetryPolicy
}

// Effects returns those of the machine, with the policy.
func (r repeating[Tx]) Effects() (list []fsm.EffectInfo) {
	for _, info := range r.Machine.Effects() {
		info.HasRetry, info.Retry = true, r.policy
		list = append(list, info)
	}
	return list
}

// runs runs a worker in a process of its own until it is dead, or until none of the
// messages is open. It reports whether that is so.
func (s *stage[Tx]) runs(p *process[Tx], policy fsm.RetryPolicy) (done bool) {
	s.Helper()
	var machines []engine.Machine[Tx]
	for _, m := range s.machines() {
		machines = append(machines, played[Tx]{Machine: repeating[Tx]{m, policy}, script: &s.script})
	}
	c := s.config
	c.Concurrency, c.PollInterval = 32, time.Hour
	e, err := engine.New[Tx](p, c, machines...)
	s.must(err)
	ctx, stop := context.WithCancel(s.ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = e.Run(ctx) }) // it returns nil
	for !done && !p.isDead() {
		select {
		case <-p.dead:
		case <-p.moved:
			done = s.Count(s.T, "fsm_outbox WHERE state NOT IN ('delivered', 'dead_letter')") == 0
		}
	}
	stop()
	running.Wait()
	return done
}

// poisoned has a message end each process that carries it out, the first two with ten
// others under way. Processes are started until nothing is left to do.
func (s *stage[Tx]) poisoned(policy fsm.RetryPolicy) {
	const healthy = 10
	var ids []string
	for range healthy + 1 {
		ids = append(ids, s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser))
	}
	poison := ids[healthy/2]
	deaths := 0
	for done := false; !done; s.tick(time.Minute) {
		p := newProcess(s.Store)
		var all sync.WaitGroup // of the messages that are under way together
		all.Add(healthy + 1)
		together := deaths < 2
		var suspects atomic.Int64
		s.script.on("deal.events", func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
			if together {
				all.Done()
				all.Wait()
			} else {
				if suspects.Add(1) > 1 {
					s.Error("a process has two suspects under way")
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
		if done = s.runs(p, policy); !done {
			deaths++
		}
		if deaths > 10 {
			s.Fatal("processes die for ever")
		}
	}
	if want := policy.Attempts + 3; deaths != want {
		s.Errorf("%d processes died, want %d: the first two do not count", deaths, want)
	}
	s.counts("fsm_outbox WHERE state = 'delivered'", healthy)
	dead, err := s.engine.DeadLetters(s.ctx, store.Filter{}, "", 100)
	s.must(err)
	if len(dead) != 1 || dead[0].RecordID != poison || dead[0].Cut != int64(deaths) {
		s.Fatalf("the dead letters are %s", text(dead))
	}
	s.must(s.engine.Requeue(s.ctx, dead[0].MessageID, "ann", "mended"))
	if got := s.letter(dead[0].MessageID); got.Attempts != 0 || got.Cut != 0 {
		s.Errorf("a requeued message is %s", text(got))
	}
}

// besideASuspect has a suspect that goes on until a message that is no suspect was
// carried out. The next suspect is claimed when the first is over, and not before.
func besideASuspect[Tx any](s *stage[Tx]) {
	for range 2 {
		s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	}
	s.knowMachines()
	s.dies()
	s.dies()
	s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	var suspects atomic.Int64
	fresh := make(chan struct{})
	s.script.on("deal.events", func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Attempt == 1 {
			close(fresh)
			return nil, nil
		}
		if suspects.Add(1) > 1 {
			s.Error("two suspects are under way")
		}
		defer suspects.Add(-1)
		<-fresh
		return nil, nil
	})
	s.runs(newProcess(s.Store), fsm.RetryPolicy{})
	s.counts("fsm_outbox WHERE state = 'delivered'", 3)
}
