package crash_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/fsmgen/fsmgen/generated/gc"
	"github.com/fsmgen/fsmgen/generated/publish"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/crash"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// The race proof: many writers, two engines, one database.

// operation is what a client asks of one record.
type operation struct {
	record int
	event  fsm.Payload // nil: read it
}

// result is the answer of the engine.
type result struct {
	version  int64
	state    string
	rejected bool
	conflict bool
}

// changed reports whether the event that it answers was accepted.
func (r result) changed() bool { return !r.rejected && !r.conflict }

// TestLinearizable has clients fire events of one record and of many, and read them,
// through two engines. It checks with porcupine that the answers could have come from one
// call after the other: the machine itself is the model.
func TestLinearizable(t *testing.T) {
	for _, clients := range []int{2, 8} {
		for _, records := range []int{1, 5} { // five: each record meets every event
			name := fmt.Sprintf("%d clients, %d records", clients, records)
			t.Run("sqlite, "+name, func(t *testing.T) { linearizable(sqliteWorld(t), clients, records) })
			t.Run("postgres, "+name, func(t *testing.T) { linearizable(postgresWorld(t), clients, records) })
		}
	}
}

func linearizable[Tx any](w *world[Tx], clients, records int) {
	// A client goes on above each until enough was accepted: how the calls meet decides how often.
	const each, atMost = 40, 400
	// Deleting and restoring refuse each other; a blob lives as long as one likes.
	m := gc.Define[Tx](nil, gc.DefaultParams())
	engines := []*engine.Engine[Tx]{w.engine(m), w.engine(m)}
	ids := make([]string, records)
	for i := range ids {
		ids[i] = w.id()
		_, err := engines[0].Create(w.Context(), "gc", ids[i], gc.Create{Digest: ids[i]}, engine.Call{})
		must(w.T, err)
	}
	events := []fsm.Payload{gc.DeleteRequest{Authorized: true}, gc.RestoreRequest{Authorized: true}, gc.DeleteRequest{Authorized: true}, nil}
	begin := time.Now()
	histories := make([][]porcupine.Operation, clients)
	var accepted atomic.Int64
	enough := int64(clients * each / 10)
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for i := 0; i < each || i < atMost && accepted.Load() < enough; i++ {
				op := operation{record: (client + i) % records, event: events[(client+i)%len(events)]}
				called := time.Since(begin)
				out, err := perform(w.Context(), engines[client%2], ids[op.record], op)
				if err != nil {
					w.Error(err)
					return
				}
				if op.event != nil && out.changed() {
					accepted.Add(1)
				}
				histories[client] = append(histories[client], porcupine.Operation{
					ClientId: client, Input: op, Output: out, Call: int64(called), Return: int64(time.Since(begin)),
				})
			}
		})
	}
	wg.Wait()
	if w.Failed() {
		return
	}
	history := slices.Concat(histories...)
	w.winners(engines[0], history, ids)
	const noTimeout = 0 // the search ends, however slow the computer is
	verdict, info := porcupine.CheckOperationsVerbose(modelOf(m), history, noTimeout)
	if verdict != porcupine.Ok {
		file := w.TempDir() + "/history.html"
		w.Errorf("the history of %d operations is not linearizable (%s); drawn in %s: %v", len(history), verdict, file, porcupine.VisualizePath(modelOf(m), info, file))
	}
	counts := map[string]int{}
	for _, op := range history {
		out := op.Output.(result)
		switch {
		case op.Input.(operation).event == nil:
			counts["reads"]++
		case out.conflict:
			counts["conflicts"]++
		case out.rejected:
			counts["rejections"]++
		default:
			counts["accepted"]++
		}
	}
	if accepted.Load() < enough || counts["rejections"] == 0 {
		w.Errorf("too little happened: %v", counts)
	}
	crash.Count(w.T, "race: %d operations of %d clients on %d records are linearizable on %s: %d accepted, %d rejected, %d conflicts, %d reads",
		len(history), clients, records, w.database.Name, counts["accepted"], counts["rejections"], counts["conflicts"], counts["reads"])
}

func perform[Tx any](ctx context.Context, e *engine.Engine[Tx], id string, op operation) (result, error) {
	if op.event == nil {
		s, err := e.Get(ctx, "gc", id)
		if err != nil {
			return result{}, err
		}
		return result{version: s.Version, state: s.Record.StateName()}, nil
	}
	o, err := e.Fire(ctx, "gc", id, op.event, engine.Call{})
	var x *fsm.Rejection
	switch {
	case errors.As(err, &x):
		return result{rejected: true, state: x.State}, nil
	case errors.Is(err, store.ErrConflict):
		return result{conflict: true}, nil
	case err != nil:
		return result{}, err
	}
	return result{version: o.Version, state: o.Record.StateName()}, nil
}

// winners: each version of each record was won once, and is in the history.
func (w *world[Tx]) winners(e *engine.Engine[Tx], history []porcupine.Operation, ids []string) {
	w.Helper()
	type version struct {
		record  int
		version int64
	}
	wins := map[version]int{}
	for _, op := range history {
		in, out := op.Input.(operation), op.Output.(result)
		if in.event != nil && out.changed() {
			wins[version{in.record, out.version}]++
		}
	}
	for i, id := range ids {
		n := len(w.transitions(e, "gc", id))
		for v := range n {
			if v > 0 && wins[version{i, int64(v + 1)}] != 1 {
				w.Errorf("version %d was won %d times", v+1, wins[version{i, int64(v + 1)}])
			}
			delete(wins, version{i, int64(v + 1)})
		}
	}
	for v, n := range wins {
		w.Errorf("%d were told to have won %+v, which is not in the history", n, v)
	}
}

// TestWorkersShareTheWork has eight workers on two engines carry out the messages of many
// records while clients fire events: each message is delivered once, those of one
// ordering key in their order and one at a time.
func TestWorkersShareTheWork(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { workersShare(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { workersShare(postgresWorld(t)) })
}

func workersShare[Tx any](w *world[Tx]) {
	const workers, records, events = 8, 12, 6
	m := publish.Define[Tx](nil)
	engines := []*engine.Engine[Tx]{w.engine(m), w.engine(m)}
	var mu sync.Mutex
	busy := map[string]int{}
	w.handle = func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		mu.Lock()
		busy[d.Record]++
		if busy[d.Record] != 1 {
			w.Errorf("%d are carried out at once for one ordering key", busy[d.Record])
		}
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		busy[d.Record]--
		mu.Unlock()
		return nil, nil
	}
	ctx, stop := context.WithCancel(w.Context())
	defer stop()
	var running sync.WaitGroup
	for i := range workers {
		running.Go(func() { must(w.T, engines[i%2].Run(ctx)) })
	}
	var clients sync.WaitGroup
	for i := range records {
		id := w.id()
		e := engines[i%2]
		clients.Go(func() {
			_, err := e.Create(ctx, "publish", id, publish.Create{}, engine.Call{})
			for range events {
				if err == nil {
					_, err = e.Fire(ctx, "publish", id, publish.PublishVersion{Policy: publish.PolicyQuarantine, Digest: "d"}, engine.Call{})
				}
			}
			if err != nil {
				w.Error(err)
			}
		})
	}
	clients.Wait()
	w.awaitEmptyOutbox(func() {})
	stop()
	running.Wait()
	last, seen := map[string]int64{}, map[string]int{}
	for _, d := range w.seen() {
		if d.Effect != "artifact.quarantined" {
			continue
		}
		seen[d.ID]++
		if d.Version <= last[d.Record] {
			w.Errorf("version %d was delivered after version %d", d.Version, last[d.Record])
		}
		last[d.Record] = d.Version
	}
	if len(seen) != records*events {
		w.Errorf("%d of %d messages were delivered", len(seen), records*events)
	}
	for id, n := range seen {
		if n != 1 {
			w.Errorf("message %s was delivered %d times, and no process crashed", id, n)
		}
	}
}

// TestAWorkerWithoutItsLeaseCompletesNothing: a worker that runs past the end of its
// lease stores nothing of what it did: no answer, delivery or deadline.
func TestAWorkerWithoutItsLeaseCompletesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		sqlite   func(*world[sqliteTx])
		postgres func(*world[postgresTx])
	}{
		"answer":   {lateAnswer[sqliteTx], lateAnswer[postgresTx]},
		"delivery": {lateDelivery[sqliteTx], lateDelivery[postgresTx]},
		"deadline": {lateDeadline[sqliteTx], lateDeadline[postgresTx]},
	} {
		t.Run(name+", sqlite", func(t *testing.T) { test.sqlite(sqliteWorld(t)) })
		t.Run(name+", postgres", func(t *testing.T) { test.postgres(postgresWorld(t)) })
	}
}

// leaseLost blocks a first worker, lets its lease end, lets a second worker work, and
// unblocks the first.
func (w *world[Tx]) leaseLost(first, second *engine.Engine[Tx], set func(hold func())) {
	w.Helper()
	sleeping, awake, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	set(func() {
		once.Do(func() {
			close(sleeping)
			<-awake
		})
	})
	go func() {
		_, err := first.Step(w.Context())
		ended <- err
	}()
	<-sleeping
	w.clock.add(2 * lease)
	w.works(second)
	close(awake)
	must(w.T, <-ended)
}

func lateAnswer[Tx any](w *world[Tx]) {
	m := registration.Define[Tx](nil, registration.Params{ValidatingTimeout: time.Hour, RegisteringPostgresTimeout: time.Hour, RegisteringConsulTimeout: time.Hour, DeregisteringTimeout: time.Hour})
	first, second := w.engine(m), w.engine(m)
	id := w.registering(first)
	w.leaseLost(first, second, func(hold func()) {
		w.handle = func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
			switch {
			case d.Effect == "validate_payload" && d.Attempt == 1:
				hold()
				return fired(registration.ValidationFailed{ValidationResult: registration.ValidationOutcomeFailed, ValidationError: "late"})
			case d.Effect == "validate_payload":
				return fired(registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed})
			case d.Effect == "postgres.upsert_registration":
				return fired(registration.PostgresSucceeded{PostgresApplied: true})
			}
			return fired(registration.ConsulSucceeded{ConsulApplied: true})
		}
	})
	w.in(second, "registration", id, "registered")
	want := []string{"create", "start_registration", "validation_success", "postgres_success", "start_consul_registration", "consul_success"}
	if got := w.transitions(second, "registration", id); !slices.Equal(got, want) {
		w.Errorf("the history tells %v, want %v", got, want)
	}
}

// registering makes a registration whose payload is being validated.
func (w *world[Tx]) registering(e *engine.Engine[Tx]) string {
	w.Helper()
	id, by := w.id(), registration.ByExternal("x").Caller()
	_, err := e.Create(w.Context(), "registration", id, registration.Create{NodeID: id}, engine.Call{By: by})
	must(w.T, err)
	_, err = e.Fire(w.Context(), "registration", id, registration.Register{
		Payload: fsm.Some(fsm.JSON(`{}`)), DeploymentID: fsm.Some("d"), Environment: fsm.Some("e"), NetworkID: fsm.Some("n"),
		ConsulServiceID: fsm.Some("c"), ConsulServiceName: fsm.Some("s"), PostgresRecord: fsm.Some(fsm.JSON(`{}`)),
	}, engine.Call{By: by})
	must(w.T, err)
	return id
}

func lateDelivery[Tx any](w *world[Tx]) {
	m := deal.Define[Tx](nil, deal.DefaultParams())
	first, second := w.engine(m), w.engine(m)
	_, err := first.Create(w.Context(), "deal", w.id(), deal.Create{OwnerID: 8, PriceNano: 100}, engine.Call{By: advertiser})
	must(w.T, err)
	w.leaseLost(first, second, func(hold func()) {
		w.handle = func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
			if d.Attempt == 1 {
				hold()
				return nil, errors.New("it failed, says the first worker")
			}
			return nil, nil
		}
	})
	if n := w.count("fsm_outbox WHERE state = 'delivered' AND attempts = 2"); n != 1 {
		w.Errorf("%d messages are as the second worker left them", n)
	}
	if n := w.count("fsm_outbox WHERE last_error LIKE '%first worker%'"); n != 0 {
		w.Error("the first worker has stored its failure")
	}
}

func lateDeadline[Tx any](w *world[Tx]) {
	m := deal.Define[Tx](nil, deal.DefaultParams())
	slow := &faultyStore[Tx]{Store: w.store()}
	first, second := w.engineOn(slow, m), w.engine(m)
	id := w.id()
	_, err := second.Create(w.Context(), "deal", id, deal.Create{OwnerID: 8, PriceNano: 100}, engine.Call{By: advertiser})
	must(w.T, err)
	_, err = second.Fire(w.Context(), "deal", id, deal.SubmitOffer{}, engine.Call{By: advertiser})
	must(w.T, err)
	w.works(second)
	w.clock.add(deal.DefaultParams().OfferTimeout)
	w.leaseLost(first, second, func(hold func()) { slow.claimed = func([]store.Task) { hold() } })
	want := []string{"create", "submit_offer", "offer_expired"}
	if got := w.transitions(second, "deal", id); !slices.Equal(got, want) {
		w.Errorf("the history tells %v, want %v", got, want)
	}
	if n := w.count("fsm_deadlines"); n != 0 {
		w.Errorf("%d deadlines are left", n)
	}
}
