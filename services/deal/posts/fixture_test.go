package posts_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/client"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/enginetest"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/internal/dbtest"
	"github.com/fsmgen/fsmgen/services/deal/internal/sqltx"
	"github.com/fsmgen/fsmgen/services/deal/posts"
	"github.com/fsmgen/fsmgen/services/deal/posts/directory"
)

var (
	begin    = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	creative = fsm.Some(fsm.JSON(`{"text":"a < b","image":{"w":2,"h":1e1}}`))
	content  = `{"image":{"h":1e1,"w":2},"text":"a < b"}`
	key      = id(1).String()
)

func id(n byte) fsm.UUID { return fsm.UUID{6: 0x70, 8: 0x80, 15: n} }

// fixture is a scheduler and a verifier with a database, a channel in a folder, and deals.
type fixture[T any] struct {
	*testing.T
	db      dbtest.Database[T]
	table   *posts.Table[T]
	clock   *enginetest.Clock
	folder  string // of the channel
	channel *channel
	deals   *deals
	*process[T]
}

// process is a scheduler and a verifier with a connection of their own to the database.
type process[T any] struct {
	scheduler *posts.Scheduler[T]
	verifier  *posts.Verifier[T]
}

var config = posts.Config{Every: 10 * time.Minute, Lease: time.Minute, Retry: 30 * time.Second}

func fixtureOf[T any](t *testing.T, db dbtest.Database[T], table *posts.Table[T]) *fixture[T] {
	t.Helper()
	f := &fixture[T]{T: t, db: db, table: table, clock: enginetest.NewClock(begin), folder: t.TempDir()}
	folder, err := directory.Open(f.folder, directory.Config{})
	must(t, err)
	t.Cleanup(func() { must(t, folder.Close()) })
	f.channel = &channel{Channel: folder}
	f.deals = &deals{states: map[fsm.UUID]deal.State{}, keys: map[string]string{}}
	for range 2 { // the second time the tables are there
		must(t, db.InTx(t.Context(), func(tx T) error { return table.Migrate(t.Context(), tx) }))
	}
	f.process = f.another(db.Store)
	return f
}

// another returns another process.
func (f *fixture[T]) another(store posts.Store[T]) *process[T] {
	f.Helper()
	c := config
	c.Clock, c.Logger = f.clock, slog.New(slog.NewTextHandler(f.Output(), nil))
	s, err := posts.NewScheduler(store, f.table, f.channel, c)
	must(f.T, err)
	v, err := posts.NewVerifier(store, f.table, f.channel, c)
	must(f.T, err)
	return &process[T]{s, v}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// scheduled returns the effect schedule_post of a deal that is SCHEDULED.
func (f *fixture[T]) scheduled(n byte, at time.Time) {
	f.Helper()
	f.deals.set(id(n), deal.Scheduled)
	must(f.T, f.scheduler.SchedulePost(f.Context(), fsm.Dispatch{}, deal.SchedulePostEffect{DealID: id(n), Creative: creative, PublishAt: at}))
}

// verifying publishes a post and starts its verification.
func (f *fixture[T]) verifying(n byte) {
	f.Helper()
	_, err := f.scheduler.PublishPost(f.Context(), fsm.Dispatch{}, deal.PublishPostEffect{DealID: id(n), Creative: creative})
	must(f.T, err)
	f.deals.set(id(n), deal.DeliveryVerifying)
	must(f.T, f.verifier.StartVerification(f.Context(), fsm.Dispatch{}, deal.StartVerificationEffect{DealID: id(n)}))
}

// publishes runs a round of the scheduler, which must find so many posts and meet no error.
func (f *fixture[T]) publishes(want int) {
	f.Helper()
	if due, err := f.scheduler.Round(f.Context(), f.deals); due != want || err != nil {
		f.Errorf("%d posts were due, %v, want %d", due, err, want)
	}
}

func (f *fixture[T]) looks(want int) {
	f.Helper()
	if due, err := f.verifier.Round(f.Context(), f.deals); due != want || err != nil {
		f.Errorf("%d posts were due for a look, %v, want %d", due, err, want)
	}
}

// until advances the clock to a time since the beginning, and stops whenever a look is due.
func (f *fixture[T]) until(since time.Duration) {
	f.Helper()
	f.steps(since, func() {
		if _, err := f.verifier.Round(f.Context(), f.deals); err != nil {
			f.Logf("at %s: %v", f.clock.Now(), err)
		}
	})
}

// steps advances the clock to each time at which something is due, and calls round there and at the end.
func (f *fixture[T]) steps(since time.Duration, round func()) {
	f.Helper()
	for end := begin.Add(since); f.clock.Now().Before(end); round() {
		next := f.next()
		switch {
		case !next.IsSet || next.V.After(end):
			f.clock.Set(end)
		case next.V.After(f.clock.Now()):
			f.clock.Set(next.V)
		}
	}
}

// next is when the first of the posts is due.
func (f *fixture[T]) next() (at fsm.Optional[time.Time]) {
	f.Helper()
	must(f.T, f.db.InTx(f.Context(), func(tx T) error {
		_, err := sqltx.One(f.Context(), f.db.Statements(tx), "SELECT min(due_at) FROM deal_posts", nil, fsm.Into(&at))
		return err
	}))
	return at
}

func (f *fixture[T]) post(n byte) (p posts.Post, looks []posts.Look) {
	f.Helper()
	must(f.T, f.db.InTx(f.Context(), func(tx T) (err error) {
		p, _, err = f.table.Post(f.Context(), tx, id(n))
		if err == nil {
			looks, err = f.table.Looks(f.Context(), tx, id(n))
		}
		return err
	}))
	return p, looks
}

// is checks the state of a post, and whether something is due.
func (f *fixture[T]) is(n byte, want posts.State, due bool) posts.Post {
	f.Helper()
	p, _ := f.post(n)
	if p.State != want || p.Due.IsSet != due {
		f.Errorf("the post is %+v, want %s, due: %v", p, want, due)
	}
	return p
}

// fired checks the events that deals have accepted, in their order.
func (f *fixture[T]) fired(want ...string) {
	f.Helper()
	f.deals.mu.Lock()
	defer f.deals.mu.Unlock()
	if !slices.Equal(f.deals.accepted, want) {
		f.Errorf("the deals have accepted %v, want %v", f.deals.accepted, want)
	}
}

// says runs a statement past the package.
func (f *fixture[T]) says(statement string) error {
	return f.db.InTx(f.Context(), func(tx T) error { return f.db.Statements(tx).Exec(f.Context(), statement) })
}

// channel is a channel of which a test prevents or cuts short calls.
type channel struct {
	posts.Channel
	mu                          sync.Mutex
	before, published, lookedAt func() error // nil: nothing
	publications                int
}

func (c *channel) on(before, published, lookedAt func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before, c.published, c.lookedAt = before, published, lookedAt
}

// hooks returns the hooks without their lock: one may block.
func (c *channel) hooks() (before, published, lookedAt func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.before, c.published, c.lookedAt
}

func call(hook func() error) error {
	if hook == nil {
		return nil
	}
	return hook()
}

func (c *channel) Publish(ctx context.Context, key string, content []byte) error {
	before, published, _ := c.hooks()
	if err := call(before); err != nil {
		return err
	}
	c.mu.Lock()
	c.publications++
	c.mu.Unlock()
	return errors.Join(c.Channel.Publish(ctx, key, content), call(published))
}

func (c *channel) Look(ctx context.Context, key string) (posts.Sight, error) {
	before, _, lookedAt := c.hooks()
	if err := call(before); err != nil {
		return posts.Sight{}, err
	}
	sight, err := c.Channel.Look(ctx, key)
	return sight, errors.Join(err, call(lookedAt))
}

// deals take events as the engine does with document 003: an event of a key once, and from one state.
type deals struct {
	mu       sync.Mutex
	states   map[fsm.UUID]deal.State
	keys     map[string]string // the event that has used a key
	accepted []string
	before   func() error // before an event is taken
	after    func() error // after it was taken, before the caller hears of it
}

func (d *deals) set(id fsm.UUID, s deal.State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.states[id] = s
}

func (d *deals) on(before, after func() error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before, d.after = before, after
}

func (d *deals) Get(_ context.Context, id fsm.UUID) (client.Snapshot[*deal.Record], error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, there := d.states[id]
	if !there {
		return client.Snapshot[*deal.Record]{}, engine.ErrNotFound
	}
	return client.Snapshot[*deal.Record]{Record: &deal.Record{DealID: id, State: s}}, nil
}

func (d *deals) fire(id fsm.UUID, event string, from, to deal.State, with []client.Option) (o client.Outcome[*deal.Record], err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := call(d.before); err != nil {
		return o, err
	}
	c := client.CallOf(with...)
	switch used := d.keys[c.IdempotencyKey]; {
	case c.IdempotencyKey == "" || c.By != deal.BySystem().Caller():
		return o, errors.New("an event without a key, or by another role")
	case used == event+" "+id.String():
		o.Replayed = true
		return o, nil
	case used != "":
		return o, engine.ErrKeyUsed
	case d.states[id] != from:
		return o, &fsm.Rejection{Machine: "deal", State: d.states[id].String(), Event: event}
	}
	d.keys[c.IdempotencyKey] = event + " " + id.String()
	d.states[id] = to
	d.accepted = append(d.accepted, event)
	return o, call(d.after)
}

func (d *deals) AutoPublished(_ context.Context, id fsm.UUID, with ...client.Option) (client.Outcome[*deal.Record], error) {
	return d.fire(id, "AUTO_PUBLISHED", deal.Scheduled, deal.Published, with)
}

func (d *deals) VerificationPassed(_ context.Context, id fsm.UUID, with ...client.Option) (client.Outcome[*deal.Record], error) {
	return d.fire(id, "VERIFICATION_PASSED", deal.DeliveryVerifying, deal.CompletedReleased, with)
}

func (d *deals) VerificationFailed(_ context.Context, id fsm.UUID, with ...client.Option) (client.Outcome[*deal.Record], error) {
	return d.fire(id, "VERIFICATION_FAILED", deal.DeliveryVerifying, deal.Disputed, with)
}

// deleted removes the post of a deal from the channel, edited gives it another content.
func (f *fixture[T]) deleted(n byte) {
	f.Helper()
	must(f.T, os.Remove(filepath.Join(f.folder, id(n).String()+".json")))
}

func (f *fixture[T]) edited(n byte, content string) {
	f.Helper()
	must(f.T, os.WriteFile(filepath.Join(f.folder, id(n).String()+".json"), []byte(content), 0o600))
}
