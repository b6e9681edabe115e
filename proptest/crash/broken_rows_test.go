package crash_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/generated/publish"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// Rows that an operator broke by hand. Each is an error or a dead letter that names
// its record, and the other records go on.

// brokenRows is a world in which the owner of the database changes rows by hand.
type brokenRows[Tx any] struct {
	*world[Tx]
	spoil   func(table, statement string) error
	refuses bool // the database itself holds against text that is no JSON
}

func sqliteBrokenRows(t *testing.T) *brokenRows[sqliteTx] {
	w := sqliteWorld(t)
	return &brokenRows[sqliteTx]{world: w, spoil: w.execUncheckedSQLite}
}

func postgresBrokenRows(t *testing.T) *brokenRows[postgresTx] {
	w := postgresWorld(t)
	return &brokenRows[postgresTx]{world: w, spoil: w.execUncheckedPostgres, refuses: true}
}

// execUncheckedPostgres runs a statement without the CHECKs and triggers of a table.
func (w *world[Tx]) execUncheckedPostgres(table, statement string) error {
	for _, s := range []string{
		`DO $$ DECLARE c text; BEGIN
			FOR c IN SELECT conname FROM pg_constraint WHERE conrelid = '` + table + `'::regclass AND contype = 'c' LOOP
				EXECUTE format('ALTER TABLE ` + table + ` DROP CONSTRAINT %I', c);
			END LOOP;
		END $$`,
		"ALTER TABLE " + table + " DISABLE TRIGGER USER", statement, "ALTER TABLE " + table + " ENABLE TRIGGER USER",
	} {
		if _, err := w.sql.Exec(s); err != nil {
			return err
		}
	}
	return nil
}

// execUncheckedSQLite runs a statement without the CHECKs and triggers of a table.
func (w *world[Tx]) execUncheckedSQLite(table, statement string) error {
	conn, err := w.sql.Conn(w.Context())
	if err != nil {
		return err
	}
	defer conn.Close()
	rows, err := conn.QueryContext(w.Context(), "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?", table)
	if err != nil {
		return err
	}
	defer rows.Close()
	run, back := []string{"PRAGMA ignore_check_constraints = ON"}, []string{"PRAGMA ignore_check_constraints = OFF"}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return err
		}
		run, back = append(run, fmt.Sprintf("DROP TRIGGER %q", name)), append(back, text)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, s := range slices.Concat(run, []string{statement}, back) {
		if _, err := conn.ExecContext(w.Context(), s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// offered creates a deal that waits for an answer to its offer until its deadline.
func (w *world[Tx]) offered(e *engine.Engine[Tx]) string {
	w.Helper()
	id := w.id()
	_, err := e.Create(w.Context(), "deal", id, deal.Create{OwnerID: 8, PriceNano: 100}, engine.Call{By: advertiser})
	must(w.T, err)
	_, err = e.Fire(w.Context(), "deal", id, deal.SubmitOffer{}, engine.Call{By: advertiser})
	must(w.T, err)
	return id
}

func TestBrokenRecord(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { brokenRecord(sqliteBrokenRows(t)) })
	t.Run("postgres", func(t *testing.T) { brokenRecord(postgresBrokenRows(t)) })
}

func brokenRecord[Tx any](w *brokenRows[Tx]) {
	e := w.engine(deal.Define[Tx](nil, deal.DefaultParams()))
	whole := w.offered(e)
	broken := map[string]string{} // what is wrong, by id
	for _, set := range []string{"status = 'NOWHERE'", "escrow = 'lent'", "creative = '{'"} {
		id := w.offered(e)
		err := w.spoil("deals", "UPDATE deals SET "+set+" WHERE deal_id = '"+id+"'")
		if set == "creative = '{'" && w.refuses {
			if err == nil {
				w.Error("the database lets anybody write what is no JSON")
			}
			continue
		}
		must(w.T, err)
		broken[id] = set
	}
	w.clock.add(deal.DefaultParams().OfferTimeout)
	w.works(e) // deadlines and messages of all of them
	w.in(e, "deal", whole, "EXPIRED")
	for id, set := range broken {
		_, get := e.Get(w.Context(), "deal", id)
		_, fire := e.Fire(w.Context(), "deal", id, deal.Withdraw{}, engine.Call{By: advertiser})
		_, resume := e.Resume(w.Context(), "deal", id, "operator", "to see")
		for _, err := range []error{get, fire, resume} {
			var corrupt *store.CorruptError
			if !errors.As(err, &corrupt) || corrupt.Machine != "deal" || corrupt.ID != id {
				w.Errorf("with %s the error is %v", set, err)
			}
		}
		if !w.logs.line("level=ERROR", "task failed", "EXPIRE", id) {
			w.Errorf("with %s, no line of the log names the record whose deadline failed", set)
		}
		if n := len(w.transitions(e, "deal", id)); n != 2 {
			w.Errorf("with %s the history has %d rows", set, n)
		}
	}
	list, err := e.List(w.Context(), "deal", "", "", 0)
	must(w.T, err)
	for _, s := range list {
		if (broken[s.ID] != "") != errors.Is(s.Err, store.ErrCorrupt) {
			w.Errorf("the list has %s with the error %v", s.ID, s.Err)
		}
	}
	if len(list) != 4 {
		w.Errorf("the list has %d records", len(list))
	}
	// Nothing is lost: repaired, they continue without help.
	for id := range broken {
		must(w.T, w.spoil("deals", "UPDATE deals SET status = 'OFFER_PENDING', escrow = 'none', creative = NULL WHERE deal_id = '"+id+"'"))
	}
	w.clock.add(2 * lease)
	w.works(e)
	for id := range broken {
		w.in(e, "deal", id, "EXPIRED")
	}
}

// announcer has handlers of the machine publish, of which one is called here.
type announcer[Tx any] struct {
	publish.Handlers[Tx]
	announced map[string]int
}

func (a announcer[Tx]) Audit(context.Context, Tx, fsm.Dispatch, publish.AuditEffect) error {
	return nil
}

func (a announcer[Tx]) ArtifactQuarantined(_ context.Context, d fsm.Dispatch, _ publish.ArtifactQuarantinedEffect) error {
	a.announced[d.Record]++
	return nil
}

// TestBrokenMessage: a message that can't be read becomes a dead letter of its record.
// Repaired and requeued it is delivered.
func TestBrokenMessage(t *testing.T) {
	for _, payload := range []string{`{`, `[1]`, `{"digest":1}`} {
		t.Run("sqlite, "+payload, func(t *testing.T) { brokenMessage(sqliteBrokenRows(t), payload) })
		t.Run("postgres, "+payload, func(t *testing.T) { brokenMessage(postgresBrokenRows(t), payload) })
	}
}

func brokenMessage[Tx any](w *brokenRows[Tx], payload string) {
	handlers := announcer[Tx]{announced: map[string]int{}}
	m := publish.Define[Tx](handlers)
	w.handle, w.inTx = m.Handle, m.HandleTx
	e := w.engine(m)
	broken, whole := w.id(), w.id()
	for _, id := range []string{broken, whole} {
		_, err := e.Create(w.Context(), "publish", id, publish.Create{}, engine.Call{})
		must(w.T, err)
		for range 2 { // the second one waits behind the first
			_, err = e.Fire(w.Context(), "publish", id, publish.PublishVersion{Policy: publish.PolicyQuarantine, Digest: "d"}, engine.Call{})
			must(w.T, err)
		}
	}
	first := "fsm_outbox WHERE version = 2 AND record_id = '" + broken + "'"
	err := w.spoil("fsm_outbox", "UPDATE fsm_outbox SET payload = '"+payload+"' WHERE version = 2 AND record_id = '"+broken+"'")
	if payload == `{` && w.refuses {
		if err == nil {
			w.Error("the database lets anybody write what is no JSON")
		}
		return
	}
	must(w.T, err)
	if payload == `{` { // no handler can do anything about it
		w.works(e)
		if n := w.count(first + " AND state = 'dead_letter' AND attempts = 1"); n != 1 {
			w.Error("the message is not a dead letter at once")
		}
	}
	for range 12 { // as often as it may be repeated
		w.works(e)
		w.clock.add(10 * time.Minute)
	}
	if handlers.announced[whole] != 2 || handlers.announced[broken] != 0 {
		w.Errorf("announced were %v", handlers.announced)
	}
	letters, err := e.DeadLetters(w.Context(), store.Filter{}, "", 0)
	must(w.T, err)
	if len(letters) != 1 || letters[0].RecordID != broken || letters[0].Machine != "publish" || letters[0].LastError == "" {
		w.Fatalf("the dead letters are %+v", letters)
	}
	if !w.logs.line("level=ERROR", "dead letter", broken) {
		w.Error("no line of the log names the record")
	}
	must(w.T, w.spoil("fsm_outbox", `UPDATE fsm_outbox SET payload = '{"digest":"d"}' WHERE version = 2 AND record_id = '`+broken+"'"))
	must(w.T, e.Requeue(w.Context(), letters[0].MessageID, "operator", "repaired"))
	w.works(e)
	if handlers.announced[broken] != 2 || w.count(first+" AND state = 'delivered'") != 1 {
		w.Errorf("repaired, it is announced %d times", handlers.announced[broken])
	}
}

// TestBrokenDeadline: a deadline that can't be read is reported with its record, and
// stays. One with a payload that its event does not accept is reported and consumed, and
// Resume sets it again. One with an event that the program does not know is not claimed
// until it is repaired.
func TestBrokenDeadline(t *testing.T) {
	for _, set := range []string{"payload = '{'", "payload = '[1]'", "event = 'NOBODY'"} {
		t.Run("sqlite, "+set, func(t *testing.T) { brokenDeadline(sqliteBrokenRows(t), set) })
		t.Run("postgres, "+set, func(t *testing.T) { brokenDeadline(postgresBrokenRows(t), set) })
	}
}

func brokenDeadline[Tx any](w *brokenRows[Tx], set string) {
	e := w.engine(deal.Define[Tx](nil, deal.DefaultParams()))
	broken, whole := w.offered(e), w.offered(e)
	err := w.spoil("fsm_deadlines", "UPDATE fsm_deadlines SET "+set+" WHERE record_id = '"+broken+"'")
	unreadable, unknown := set == "payload = '{'", set == "event = 'NOBODY'"
	if unreadable && w.refuses {
		if err == nil {
			w.Error("the database lets anybody write what is no JSON")
		}
		return
	}
	must(w.T, err)
	w.clock.add(deal.DefaultParams().OfferTimeout)
	w.works(e)
	w.in(e, "deal", whole, "EXPIRED")
	w.in(e, "deal", broken, "OFFER_PENDING")
	if unknown {
		w.runUntil(e, func() bool { return w.logs.line("work is due that this program does not know", broken) })
	} else if !w.logs.line("deadline refused", broken) && !w.logs.line("task failed", broken) {
		w.Error("no line of the log names the record")
	}
	if unreadable || unknown {
		must(w.T, w.spoil("fsm_deadlines", "UPDATE fsm_deadlines SET payload = '{}', event = 'EXPIRE' WHERE record_id = '"+broken+"'"))
		w.clock.add(2 * lease)
	} else {
		did, err := e.Resume(w.Context(), "deal", broken, "operator", "its deadline is lost")
		must(w.T, err)
		if !did.Deadline {
			w.Error("no deadline was set")
		}
	}
	w.works(e)
	w.in(e, "deal", broken, "EXPIRED")
}

// TestVanishedRecord: an event for a record that does not exist, and tasks of a record
// that was deleted by hand.
func TestVanishedRecord(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { vanishedRecord(sqliteBrokenRows(t)) })
	t.Run("postgres", func(t *testing.T) { vanishedRecord(postgresBrokenRows(t)) })
}

func vanishedRecord[Tx any](w *brokenRows[Tx]) {
	e := w.engine(deal.Define[Tx](nil, deal.DefaultParams()))
	never := w.id()
	_, fire := e.Fire(w.Context(), "deal", never, deal.SubmitOffer{}, engine.Call{By: advertiser, IdempotencyKey: "k"})
	_, get := e.Get(w.Context(), "deal", never)
	_, resume := e.Resume(w.Context(), "deal", never, "operator", "to see")
	for _, err := range []error{fire, get, resume} {
		if !errors.Is(err, engine.ErrNotFound) || !contains(err, "deal "+never) {
			w.Errorf("for a record that does not exist the error is %v", err)
		}
	}
	if _, err := e.Fire(w.Context(), "deal", "no id", deal.SubmitOffer{}, engine.Call{By: advertiser}); err == nil || !contains(err, `"no id"`) {
		w.Errorf("for what is no id the error is %v", err)
	}
	if n := w.count("fsm_keys"); n != 0 {
		w.Errorf("%d keys are used up", n)
	}

	deleted, whole := w.offered(e), w.offered(e)
	_, err := e.Fire(w.Context(), "deal", deleted, deal.Accept{}, engine.Call{By: owner})
	must(w.T, err)
	must(w.T, w.spoil("deal_events", "DELETE FROM deal_events WHERE deal_id = '"+deleted+"'"))
	must(w.T, w.spoil("deals", "DELETE FROM deals WHERE deal_id = '"+deleted+"'"))
	w.handle = func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Effect == "generate_deposit_address" {
			return fired(deal.AddressReady{DepositAddress: "a"})
		}
		return nil, nil
	}
	w.clock.add(deal.DefaultParams().OfferTimeout)
	w.works(e)
	w.in(e, "deal", whole, "EXPIRED")
	if !w.logs.line("answer refused", deleted) {
		w.Error("no line of the log names the record that is gone")
	}
	if n := w.count("fsm_outbox WHERE state <> 'delivered'"); n != 0 {
		w.Errorf("%d messages are not delivered", n)
	}
}
