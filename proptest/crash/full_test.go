package crash_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/generated/publish"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/crash"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// fullDisk is a world in a SQLite file of bounded size, with some pages of ballast that
// can be filled and freed.
type fullDisk struct {
	*world[sqliteTx]
	ballast *sql.Conn
}

func newCrowded(t *testing.T, m engine.Machine[sqliteTx]) *fullDisk {
	const room = 64 // pages
	file := filepath.Join(t.TempDir(), "full.db")
	empty := newWorld(t, crash.FileDatabase(file))
	empty.engine(m)
	var size, pages int64
	must(t, empty.sql.QueryRow("PRAGMA page_size").Scan(&size))
	must(t, empty.sql.QueryRow("PRAGMA page_count").Scan(&pages))
	pages += room
	w := newWorld(t, crash.BoundedFile(file, pages*size))
	c := &fullDisk{world: w}
	var err error
	c.ballast, err = w.sql.Conn(t.Context())
	must(t, err)
	t.Cleanup(func() { must(t, c.ballast.Close()) })
	c.exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages))
	c.exec("CREATE TABLE ballast (x blob)")
	return c
}

func (c *fullDisk) exec(statement string) {
	c.Helper()
	_, err := c.ballast.ExecContext(context.WithoutCancel(c.Context()), statement)
	must(c.T, err)
}

// fill fills the file.
func (c *fullDisk) fill() {
	for size := 1 << 16; size > 0; {
		_, err := c.ballast.ExecContext(c.Context(), fmt.Sprintf("INSERT INTO ballast VALUES (zeroblob(%d))", size))
		switch {
		case err == nil:
		case strings.Contains(err.Error(), "full"):
			size /= 2
		default:
			c.Error(err)
			return
		}
	}
}

func (c *fullDisk) makeRoom() { c.exec("DELETE FROM ballast") }

// full fails the test unless err is the error of a full disk.
func (c *fullDisk) full(err error) {
	c.Helper()
	if !errors.Is(err, store.ErrStore) || !errors.Is(err, sqlite.ErrFull) {
		c.Fatalf("the error is %v, want that the disk is full", err)
	}
}

// everything counts the rows of everything that a step writes.
func (c *fullDisk) everything() (counts []int) {
	c.Helper()
	for _, table := range []string{"publish_records", "publish_history", "fsm_outbox", "fsm_deadlines", "fsm_keys"} {
		counts = append(counts, c.count(table))
	}
	return counts
}

// TestDiskFull fires until the file is full: an event without room leaves nothing behind,
// reads succeed, and with room the same key is accepted.
func TestDiskFull(t *testing.T) {
	m := publish.Define[sqliteTx](nil)
	c := newCrowded(t, m)
	e := c.engine(m)
	id := c.id()
	_, err := e.Create(t.Context(), "publish", id, publish.Create{}, engine.Call{})
	must(t, err)
	c.exec("INSERT INTO ballast VALUES (zeroblob(100000))")
	fire := func(key string) (engine.Outcome, error) {
		event := publish.PublishVersion{Policy: publish.PolicyQuarantine, Digest: strings.Repeat(key, 1000)} // pages of its own
		return e.Fire(t.Context(), "publish", id, event, engine.Call{IdempotencyKey: key})
	}
	var key string
	var version int64
	before := c.everything()
	for n := 0; err == nil && n < 1000; n++ {
		before = c.everything()
		var o engine.Outcome
		if o, err = fire(fmt.Sprint("key ", n)); err != nil {
			key = fmt.Sprint("key ", n)
		} else {
			version = o.Version
		}
	}
	c.full(err)
	if version < 3 {
		t.Fatalf("only version %d was reached before the disk was full", version)
	}
	if after := c.everything(); !slices.Equal(after, before) {
		t.Errorf("the refused event left something: %v rows, before it %v", after, before)
	}
	s, err := e.Get(t.Context(), "publish", id)
	must(t, err)
	if got := len(c.transitions(e, "publish", id)); s.Version != version || int64(got) != version {
		t.Errorf("the record is at version %d with %d rows of history, want %d", s.Version, got, version)
	}
	_, err = e.List(t.Context(), "publish", "draft", "", 0)
	must(t, err)
	c.fill()
	_, err = fire(key)
	c.full(err)

	c.makeRoom()
	for _, replayed := range []bool{false, true} {
		o, err := fire(key)
		must(t, err)
		if o.Version != version+1 || o.Replayed != replayed {
			t.Errorf("with room it leads to version %d, replayed %t; want version %d, %t", o.Version, o.Replayed, version+1, replayed)
		}
	}
	c.works(e)
	if n := c.called("artifact.quarantined"); int64(n) != version {
		t.Errorf("%d messages were delivered, want %d", n, version)
	}
}

// TestDiskFullWhileAWorkerSettles fills the file while a handler runs: its answer can't
// be stored. When there is room, the effect is repeated.
func TestDiskFullWhileAWorkerSettles(t *testing.T) {
	t.Parallel()
	m := deal.Define[sqliteTx](nil, deal.DefaultParams())
	c := newCrowded(t, m)
	c.lease = time.Second // of real time: so long an answer is tried to be stored
	e := c.engine(m)
	var ids []string
	c.handle = func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Effect != "generate_deposit_address" {
			return nil, nil
		}
		ids = append(ids, d.ID)
		if d.Attempt == 1 {
			c.fill()
		}
		return fired(deal.AddressReady{DepositAddress: strings.Repeat("a", 20_000)})
	}
	id := c.id()
	_, err := e.Create(t.Context(), "deal", id, deal.Create{OwnerID: 8, PriceNano: 100}, engine.Call{By: advertiser})
	must(t, err)
	for _, f := range []engine.Firing{{Event: deal.SubmitOffer{}, Call: engine.Call{By: advertiser}}, {Event: deal.Accept{}, Call: engine.Call{By: owner}}} {
		_, err := e.Fire(t.Context(), "deal", id, f.Event, f.Call)
		must(t, err)
	}
	_, err = e.Step(t.Context())
	must(t, err)
	if !c.logs.line("task failed", id, sqlite.ErrFull.Error()) {
		t.Error("no line of the log says that the disk is full, and for which record")
	}
	c.in(e, "deal", id, "ACCEPTED")
	if n := c.count("fsm_outbox WHERE effect = 'generate_deposit_address' AND state = 'delivering'"); n != 1 {
		t.Fatalf("%d messages are in the hands of a worker", n)
	}
	// Still without room: whatever a worker can do, nothing gets lost.
	c.clock.add(2 * lease)
	if _, err := e.Step(t.Context()); err != nil {
		c.full(err)
	}

	c.makeRoom()
	c.clock.add(2 * lease)
	c.works(e)
	c.in(e, "deal", id, "AWAITING_PAYMENT")
	if len(ids) < 2 || slices.ContainsFunc(ids, func(s string) bool { return s != ids[0] }) {
		t.Errorf("the handler was called with the ids %v", ids)
	}
	if got, want := c.transitions(e, "deal", id), []string{"create", "submit_offer", "accept", "address_ready"}; !slices.Equal(got, want) {
		t.Errorf("the history tells %v, want %v", got, want)
	}
	if n := c.count("fsm_outbox WHERE state <> 'delivered'"); n != 0 {
		t.Errorf("%d messages are not delivered", n)
	}
}
