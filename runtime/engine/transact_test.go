package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// counted is a real store that tells what is saved, a text a call.
type counted struct {
	engine.Store[*sql.Tx]
	mu    sync.Mutex
	saves []string
	fail  func(commits []store.Commit) error // nil: never
}

func (c *counted) Save(ctx context.Context, tx *sql.Tx, commits []store.Commit) error {
	var texts []string
	for _, x := range commits {
		text := fmt.Sprintf("%d steps", len(x.Steps))
		if x.Task != nil {
			text += ", a task"
		}
		if len(x.Writes) > 0 {
			text += fmt.Sprintf(", %d writes", len(x.Writes))
		}
		if len(x.Outbox) > 0 {
			text += fmt.Sprintf(", %d effects", len(x.Outbox))
		}
		if len(x.SetDeadlines) > 0 {
			text += fmt.Sprintf(", %d deadlines", len(x.SetDeadlines))
		}
		texts = append(texts, text)
	}
	c.mu.Lock()
	c.saves = append(c.saves, strings.Join(texts, "; "))
	c.mu.Unlock()
	if c.fail != nil {
		if err := c.fail(commits); err != nil {
			return err
		}
	}
	return c.Store.Save(ctx, tx, commits)
}

func (c *counted) seen() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.saves)
}

// mine is a row of a table of the caller's own.
func mine(id string) fsm.TableWrite {
	return fsm.TableWrite{Table: "mine", Op: fsm.EffectUpsert, Key: []fsm.Column{{Name: "id", Value: id}}, Columns: []fsm.Column{{Name: "note", Value: "written"}}}
}

// TestAUnitIsWrittenAtItsEnd: events of several records, and rows beside them, are
// written as late as their order allows, together; what one of them asked for and
// another took back never is.
func TestAUnitIsWrittenAtItsEnd(t *testing.T) {
	s := newStage(t)
	db, r := &counted{Store: s.store}, newRegistered(s)
	r.open(db)
	s.exec("CREATE TABLE mine (id text PRIMARY KEY, note text)")
	first, second := fullID("1"), fullID("2")
	if err := r.engine.Transact(t.Context(), func(ctx context.Context, u *engine.Tx[*sql.Tx]) error {
		var errs []error
		do := func(err error) { errs = append(errs, err) }
		fire := func(id string, e fsm.Payload, by engine.Call) {
			_, err := u.Fire(ctx, "registration", id, e, by)
			do(err)
		}
		for n, id := range []string{first, second} {
			_, err := u.Create(ctx, "registration", id, registration.Create{NodeID: fmt.Sprint("n", n)}, r.by)
			do(err)
			do(u.Write("registration", id, mine(id)))
		}
		fire(first, r.payload(), r.by)
		fire(second, r.payload(), r.by)
		fire(second, registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed}, engine.Call{By: fsm.System()})
		fire(first, registration.FatalError{}, engine.Call{By: fsm.System()})
		return errors.Join(errs...)
	}); err != nil {
		t.Fatal(err)
	}
	// What first does after second was made may refer to that.
	want := []string{"1 steps, 1 writes; 1 steps, 1 writes; 1 steps; 2 steps; 1 steps; 0 steps, 1 effects, 1 deadlines"}
	if got := db.seen(); !slices.Equal(got, want) {
		t.Errorf("saved %q, want %q", got, want)
	}
	s.wants("registration", first, "failed", 3)
	s.wants("registration", second, "registering_postgres", 3)
	if got := s.texts("SELECT effect FROM fsm_outbox"); !slices.Equal(got, []string{"postgres.upsert_registration"}) {
		t.Errorf("the outbox has %v", got)
	}
	if got := s.texts("SELECT id FROM mine ORDER BY id"); !slices.Equal(got, []string{first, second}) {
		t.Errorf("the rows are %v", got)
	}
}

// TestAUnitCancelsWhatItLeaves: the work of a state that a unit leaves, also where not
// its first event does.
func TestAUnitCancelsWhatItLeaves(t *testing.T) {
	s := newStage(t)
	r := newRegistered(s)
	r.open(s.store)
	id, system := fullID("1"), engine.Call{By: fsm.System()}
	_, err := r.engine.Create(t.Context(), "registration", id, registration.Create{NodeID: "n1"}, r.by)
	fire := func(e fsm.Payload, by engine.Call) {
		if err == nil {
			_, err = r.engine.Fire(t.Context(), "registration", id, e, by)
		}
	}
	fire(r.payload(), r.by)
	fire(registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed}, system)
	fire(registration.PostgresSucceeded{PostgresApplied: true}, system)
	fire(registration.ConsulSucceeded{ConsulApplied: true}, system)
	fire(registration.Deregister{}, r.by)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.engine.Transact(t.Context(), func(ctx context.Context, u *engine.Tx[*sql.Tx]) error {
		_, stays := u.Fire(ctx, "registration", id, registration.ConsulDeregistered{ConsulCleanup: registration.CleanupRemoved}, system)
		_, leaves := u.Fire(ctx, "registration", id, registration.FatalError{}, system)
		return errors.Join(stays, leaves)
	}); err != nil {
		t.Fatal(err)
	}
	s.wants("registration", id, "failed", 9)
	if left := s.texts("SELECT effect FROM fsm_outbox WHERE work AND NOT cancelled"); len(left) > 0 {
		t.Errorf("the state was left, and its work goes on: %v", left)
	}
}

// TestFlushShowsTheRecords: a statement of the caller's own sees what the unit has
// decided once it is flushed, and not what workers would see.
func TestFlushShowsTheRecords(t *testing.T) {
	s := newStage(t)
	r := newRegistered(s)
	r.open(s.store)
	id := fullID("1")
	if err := r.engine.Transact(t.Context(), func(ctx context.Context, u *engine.Tx[*sql.Tx]) error {
		sees := func(table string) (n int) {
			if err := u.Tx.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		}
		_, err := u.Create(ctx, "registration", id, registration.Create{NodeID: "n1"}, r.by)
		if err == nil {
			_, err = u.Fire(ctx, "registration", id, r.payload(), r.by)
		}
		if n := sees("registration_records"); n != 0 {
			t.Errorf("%d records are written before they have to be", n)
		}
		if err := errors.Join(err, u.Flush(ctx)); err != nil {
			return err
		}
		if n, m := sees("registration_history"), sees("fsm_outbox"); n != 2 || m != 0 {
			t.Errorf("flushed, there are %d rows of the history and %d effects, want 2 and 0", n, m)
		}
		_, err = u.Fire(ctx, "registration", id, registration.FatalError{}, engine.Call{By: fsm.System()})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	s.wants("registration", id, "failed", 3)
	if got := s.texts("SELECT effect FROM fsm_outbox"); len(got) != 0 {
		t.Errorf("the outbox has %v", got)
	}
}

// TestTryForgetsWhatFails: one of several things that a unit tries keeps no other
// from being stored.
func TestTryForgetsWhatFails(t *testing.T) {
	s := newStage(t)
	r := newRegistered(s)
	r.open(s.store)
	refusal := errors.New("mine")
	made := func(u *engine.Tx[*sql.Tx], id string, after error) error {
		return u.Try(func() error {
			_, err := u.Create(t.Context(), "registration", id, registration.Create{NodeID: id}, r.by)
			if err == nil {
				_, err = u.Fire(t.Context(), "registration", id, r.payload(), r.by)
			}
			return errors.Join(err, after)
		})
	}
	if err := r.engine.Transact(t.Context(), func(ctx context.Context, u *engine.Tx[*sql.Tx]) error {
		if err := errors.Join(made(u, fullID("1"), nil), made(u, fullID("3"), nil)); err != nil {
			t.Error(err)
		}
		if err := made(u, fullID("2"), refusal); !errors.Is(err, refusal) {
			t.Errorf("the error is %v", err)
		}
		if err := u.Try(func() error {
			_, err := u.Fire(ctx, "registration", fullID("1"), registration.FatalError{}, engine.Call{By: fsm.System()})
			return errors.Join(err, refusal)
		}); !errors.Is(err, refusal) {
			t.Errorf("the error is %v", err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	s.wants("registration", fullID("1"), "validating", 2)
	s.wants("registration", fullID("3"), "validating", 2)
	if got := s.texts("SELECT registration_id FROM registration_records ORDER BY 1"); !slices.Equal(got, []string{fullID("1"), fullID("3")}) {
		t.Errorf("the records are %v", got)
	}
	if got := s.texts("SELECT effect FROM fsm_outbox"); len(got) != 2 {
		t.Errorf("the outbox has %v", got)
	}
	// What is written can't be forgotten.
	err := r.engine.Transact(t.Context(), func(ctx context.Context, u *engine.Tx[*sql.Tx]) error {
		_ = u.Try(func() error {
			_, err := u.Create(ctx, "registration", fullID("4"), registration.Create{NodeID: "n4"}, r.by)
			return errors.Join(err, u.Flush(ctx), refusal)
		})
		return nil
	})
	if !errors.Is(err, refusal) {
		t.Errorf("the unit ends with %v", err)
	}
	if got := s.texts("SELECT registration_id FROM registration_records"); len(got) != 2 {
		t.Errorf("the records are %v", got)
	}
}

// TestWriteNeedsARecordOfTheUnit: beside which the row is written.
func TestWriteNeedsARecordOfTheUnit(t *testing.T) {
	s := newStage(t)
	err := s.engine.Transact(t.Context(), func(ctx context.Context, u *engine.Tx[*sql.Tx]) error {
		return u.Write("registration", fullID("1"), mine("x"))
	})
	if !errors.Is(err, engine.ErrNotFound) || !strings.Contains(err.Error(), "in this transaction") {
		t.Errorf("the error is %v", err)
	}
}

// TestAKeyOfTheUnit: the same key twice within a unit answers like the first time.
func TestAKeyOfTheUnit(t *testing.T) {
	s := newStage(t)
	r := newRegistered(s)
	by := r.by
	by.IdempotencyKey = "mine"
	if err := r.engine.Transact(t.Context(), func(ctx context.Context, u *engine.Tx[*sql.Tx]) error {
		for n := range 2 {
			o, err := u.Create(ctx, "registration", fullID("1"), registration.Create{NodeID: "n1"}, by)
			if err != nil || o.Replayed != (n == 1) {
				t.Errorf("creation %d: replayed %v, %v", n, o.Replayed, err)
			}
		}
		_, err := u.Create(ctx, "registration", fullID("2"), registration.Create{NodeID: "n2"}, by)
		if !errors.Is(err, engine.ErrKeyUsed) {
			t.Errorf("another record with the key: %v", err)
		}
		offer := advertiser
		offer.IdempotencyKey = "mine" // of another machine
		_, err = u.Create(ctx, "deal", fullID("1"), deal.Create{OwnerID: 2, PriceNano: 100}, offer)
		if err != nil {
			t.Errorf("a record of another machine with the key: %v", err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	s.wants("registration", fullID("1"), "unregistered", 1)
}

// TestAnswersThatMeetAreStoredTogether: while one is being stored others wait, and
// are then one transaction; one that the database refuses fails no other.
func TestAnswersThatMeetAreStoredTogether(t *testing.T) {
	const records = 4
	s := newStage(t)
	db, r := &counted{Store: s.store}, newRegistered(s)
	r.open(db)
	refused := fullID("3")
	s.exec(`CREATE TRIGGER mine_refuses BEFORE UPDATE ON registration_records WHEN NEW.last_event = 'VALIDATION_PASSED' AND NEW.registration_id = '` + refused + `'
		BEGIN SELECT RAISE(ABORT, 'fsmgen: not today'); END`)
	for n := range records {
		if err := r.begins(fullID(fmt.Sprint(n)), fmt.Sprint("n", n)); err != nil {
			t.Fatal(err)
		}
	}
	var later atomic.Bool
	db.fail = func(commits []store.Commit) error { // the first answer waits until the others do
		for hold := commits[0].Task != nil && !later.Swap(true); hold && r.engine.Answers() < records-1; time.Sleep(time.Millisecond) {
		}
		return nil
	}
	stop := s.running()
	for range records - 1 {
		progress.Receive(t, "a registration", r.registered)
	}
	stop()
	for n := range records {
		id := fullID(fmt.Sprint(n))
		if id == refused {
			s.wants("registration", id, "failed", 3) // by its fatal event
			continue
		}
		s.wants("registration", id, "registered", 6)
	}
	if !slices.ContainsFunc(db.seen(), func(save string) bool { return strings.Count(save, "a task") >= records-1 }) {
		t.Errorf("the others were not stored together: %q", db.seen())
	}
}
