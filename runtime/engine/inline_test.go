package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// inlined has the first two effects of a registration carried out within the
// transaction: each answers what says for its record, nil for "".
func (r *registered) inlined(store engine.Store[*sql.Tx], says map[string]func(d fsm.Dispatch) (string, error)) {
	r.t.Helper()
	r.open(store)
	for _, effect := range []string{"validate_payload", "postgres.upsert_registration"} {
		err := r.engine.Inline("registration", effect, func(ctx context.Context, tx *sql.Tx, effects []fsm.Dispatch) ([]*fsm.Event, error) {
			if _, err := tx.ExecContext(ctx, "INSERT INTO mine VALUES (?, ?)", effect, len(effects)); err != nil {
				return nil, err
			}
			answers := make([]*fsm.Event, len(effects))
			for i, d := range effects {
				text, err := says[effect](d)
				if err != nil {
					return nil, err
				}
				if text != "" {
					e := parseEvent(text)
					answers[i] = &e
				}
			}
			return answers, nil
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	r.exec("CREATE TABLE IF NOT EXISTS mine (effect text, together integer)")
}

func (s *stage) exec(statement string) {
	s.t.Helper()
	db := s.connect()
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		s.t.Fatal(err)
	}
}

// texts reads rows of one text.
func (s *stage) texts(query string) (out []string) {
	s.t.Helper()
	db := s.connect()
	defer db.Close()
	rows, err := db.Query(query)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			s.t.Fatal(err)
		}
		out = append(out, text)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return out
}

func answering(text string) func(fsm.Dispatch) (string, error) {
	return func(fsm.Dispatch) (string, error) { return text, nil }
}

const (
	passes  = `VALIDATION_PASSED {"validation_result":"passed"}`
	upserts = `POSTGRES_SUCCEEDED {"postgres_applied":true}`
)

// begins fires REGISTER at a new registration, in one transaction.
func (r *registered) begins(id, node string) error {
	r.t.Helper()
	return r.engine.Transact(r.t.Context(), func(ctx context.Context, u *engine.Tx[*sql.Tx]) error {
		_, err := u.Create(ctx, "registration", id, registration.Create{NodeID: node}, r.by)
		if err == nil {
			_, err = u.Fire(ctx, "registration", id, r.payload(), r.by)
		}
		return err
	})
}

// TestInline: without a worker, an effect that Inline names is carried out and
// answered in the transaction that asks for it, and so on; only what goes further
// is stored for a worker, with the one deadline that is left.
func TestInline(t *testing.T) {
	s := newStage(t)
	store, r := s.watched(), newRegistered(s)
	r.inlined(store, map[string]func(fsm.Dispatch) (string, error){
		"validate_payload": answering(passes), "postgres.upsert_registration": answering(upserts),
	})
	id := fullID("1")
	if err := r.begins(id, "n1"); err != nil {
		t.Fatal(err)
	}
	s.wants("registration", id, "registering_consul", 5)
	if got := s.texts("SELECT effect || ' ' || state FROM fsm_outbox"); !slices.Equal(got, []string{"consul.register pending"}) {
		t.Errorf("the outbox has %v", got)
	}
	if got := s.texts("SELECT event || ' ' || version FROM fsm_deadlines"); !slices.Equal(got, []string{"CONSUL_FAILED 5"}) {
		t.Errorf("the deadlines are %v", got)
	}
	if got := s.texts("SELECT event_type FROM registration_history ORDER BY version"); strings.Join(got, " ") != "create REGISTER VALIDATION_PASSED POSTGRES_SUCCEEDED CONTINUE" {
		t.Errorf("the history is %v", got)
	}
	if n := store.loads.Load(); n != 0 {
		t.Errorf("the record was read %d times", n)
	}
	stop := s.running()
	progress.Receive(t, "the registration", r.registered)
	stop()
	if n := r.calls.Load(); n != 1 {
		t.Errorf("%d effects were left to the handlers, want consul.register", n)
	}
}

// TestInlineTogether: events of several records in one transaction have their
// effects carried out by one call; one without an answer is left to a worker.
func TestInlineTogether(t *testing.T) {
	s := newStage(t)
	r := newRegistered(s)
	shy := fullID("2")
	r.inlined(s.store, map[string]func(fsm.Dispatch) (string, error){
		"validate_payload": func(d fsm.Dispatch) (string, error) {
			if d.Record == shy {
				return "", nil
			}
			return passes, nil
		},
		"postgres.upsert_registration": answering(upserts),
	})
	if err := r.engine.Transact(t.Context(), func(ctx context.Context, u *engine.Tx[*sql.Tx]) error {
		for _, n := range []string{"1", "2", "3"} {
			if _, err := u.Create(ctx, "registration", fullID(n), registration.Create{NodeID: "n" + n}, r.by); err != nil {
				return err
			}
			if _, err := u.Fire(ctx, "registration", fullID(n), r.payload(), r.by); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := s.texts("SELECT effect || ' ' || together FROM mine ORDER BY rowid"); !slices.Equal(got, []string{"validate_payload 3", "postgres.upsert_registration 2"}) {
		t.Errorf("carried out: %v", got)
	}
	s.wants("registration", fullID("1"), "registering_consul", 5)
	s.wants("registration", shy, "validating", 2)
	s.wants("registration", fullID("3"), "registering_consul", 5)
}

// TestInlineIsAnAttempt: whatever stands against it, the event is stored as it would
// be without, nothing of the attempt is left, and a worker goes on.
func TestInlineIsAnAttempt(t *testing.T) {
	mine := errors.New("mine")
	for name, tt := range map[string]struct {
		says  func(fsm.Dispatch) (string, error)
		left  string // where the record is before a worker comes
		undid bool   // the transaction
	}{
		"no answer":               {answering(""), "validating", false},
		"an error":                {func(fsm.Dispatch) (string, error) { return "", mine }, "validating", true},
		"a panic":                 {func(fsm.Dispatch) (string, error) { panic("mine") }, "validating", true},
		"an answer that is wrong": {answering(`VALIDATION_PASSED {"validation_result":"failed"}`), "validating", false},
		"no event of the machine": {answering(`SOMETHING {}`), "validating", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			r := newRegistered(s)
			r.inlined(s.store, map[string]func(fsm.Dispatch) (string, error){"validate_payload": tt.says, "postgres.upsert_registration": answering(upserts)})
			id := fullID("1")
			if err := r.begins(id, "n1"); err != nil {
				t.Fatal(err)
			}
			s.wants("registration", id, tt.left, 2)
			if got := s.texts("SELECT effect FROM mine"); tt.undid != (len(got) == 0) {
				t.Errorf("of the attempt there is %v", got)
			}
			if seen := s.flush(); tt.undid != strings.Contains(seen, "left to a worker") {
				t.Errorf("seen:\n%s", seen)
			}
			stop := s.running()
			progress.Receive(t, "the registration", r.registered)
			stop()
			s.wants("registration", id, "registered", 6)
		})
	}
}

// TestInlineOfWhatTheDatabaseRefuses: the record that an answer leads to can't be
// stored, and REGISTER is stored all the same.
func TestInlineOfWhatTheDatabaseRefuses(t *testing.T) {
	s := newStage(t)
	r := newRegistered(s)
	r.inlined(s.store, map[string]func(fsm.Dispatch) (string, error){"validate_payload": answering(passes), "postgres.upsert_registration": answering("")})
	s.exec(`CREATE TRIGGER mine_refuses BEFORE UPDATE ON registration_records WHEN NEW.state = 'registering_postgres'
		BEGIN SELECT RAISE(ABORT, 'fsmgen: not today'); END`)
	if err := r.begins(fullID("1"), "n1"); err != nil {
		t.Fatal(err)
	}
	s.wants("registration", fullID("1"), "validating", 2)
}

// TestInlineMeasuresOnce: what a unit was refused is measured once, also where the
// unit is done again.
func TestInlineMeasuresOnce(t *testing.T) {
	s := newStage(t)
	r := newRegistered(s)
	var refused atomic.Int64
	measure := s.config.Metrics
	s.config.Metrics = func(m engine.Metric) {
		if m.Name == engine.MetricRejections {
			refused.Add(1)
		}
		measure(m)
	}
	var runs int
	r.inlined(s.store, map[string]func(fsm.Dispatch) (string, error){
		"validate_payload": func(fsm.Dispatch) (string, error) { return "", errors.New("mine") }, "postgres.upsert_registration": answering(""),
	})
	if err := r.engine.Transact(t.Context(), func(ctx context.Context, u *engine.Tx[*sql.Tx]) error {
		runs++
		_, err := u.Create(ctx, "registration", fullID("1"), registration.Create{NodeID: "n1"}, r.by)
		if err == nil {
			_, err = u.Fire(ctx, "registration", fullID("1"), r.payload(), r.by)
		}
		_, _ = u.Fire(ctx, "registration", fullID("1"), registration.Deregister{}, r.by) // is refused
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if runs != 2 || refused.Load() != 1 {
		t.Errorf("%d refusals were measured in %d runs, want 1 in 2", refused.Load(), runs)
	}
}

// TestInlineIsNotForTheCallersTransaction: FireTx leaves everything to a worker.
func TestInlineIsNotForTheCallersTransaction(t *testing.T) {
	s := newStage(t)
	r := newRegistered(s)
	r.inlined(s.store, map[string]func(fsm.Dispatch) (string, error){"validate_payload": answering(passes), "postgres.upsert_registration": answering(upserts)})
	id := fullID("1")
	if err := s.store.InTx(t.Context(), func(tx *sql.Tx) error {
		_, err := r.engine.CreateTx(t.Context(), tx, "registration", id, registration.Create{NodeID: "n1"}, r.by)
		if err == nil {
			_, err = r.engine.FireTx(t.Context(), tx, "registration", id, r.payload(), r.by)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	s.wants("registration", id, "validating", 2)
}

// TestInlineNeedsAnEffectThatMayBeRepeated: by a worker, that is.
func TestInlineNeedsAnEffectThatMayBeRepeated(t *testing.T) {
	s := newStage(t)
	none := func(context.Context, *sql.Tx, []fsm.Dispatch) ([]*fsm.Event, error) { return nil, nil }
	for _, tt := range []struct{ machine, effect, want string }{
		{"nothing", "x", `no such machine: "nothing"`},
		{"registration", "x", "x of machine registration can't be inline"},
		{"registration", "consul.withdraw", "consul.withdraw of machine registration can't be inline"},
		{"registration", "log_failure", "log_failure of machine registration can't be inline"},
	} {
		if err := s.engine.Inline(tt.machine, tt.effect, none); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.effect, err)
		}
	}
}
