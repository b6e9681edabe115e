package bench

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// file is a SQLite file of the benchmark's own.
type file struct {
	b    *testing.B
	path string
	sync sqlite.Synchronous
}

func newFile(b *testing.B, sync sqlite.Synchronous) *file {
	b.Helper()
	return &file{b: b, path: filepath.Join(b.TempDir(), "bench.db"), sync: sync}
}

// engine opens an engine for deals, with connections of its own, and its tables.
func (f *file) engine(h deal.Handlers[*sql.Tx], c engine.Config) *engine.Engine[*sql.Tx] {
	f.b.Helper()
	store, err := sqlite.Open(context.Background(), f.path, sqlite.Options{Synchronous: f.sync})
	must(f.b, err)
	f.b.Cleanup(func() { must(f.b, store.Close()) })
	c.Logger = slog.New(slog.DiscardHandler)
	e, err := engine.New(store, c, deal.Define(h, deal.DefaultParams()))
	must(f.b, err)
	must(f.b, e.Migrate(context.Background()))
	return e
}

// connect opens the one connection that a program without the project would
// write by, with the settings that the store has.
func (f *file) connect() *sql.DB {
	f.b.Helper()
	db, err := sql.Open("sqlite", fmt.Sprintf("file:%s?_journal_mode=WAL&_txlock=immediate&_busy_timeout=5000&_foreign_keys=on&_synchronous=%s", f.path, f.sync))
	must(f.b, err)
	db.SetMaxOpenConns(1)
	f.b.Cleanup(func() { must(f.b, db.Close()) })
	return db
}

// dropTriggers returns the statements that make them again.
func (f *file) dropTriggers(db *sql.DB) (again []string) {
	f.b.Helper()
	var drop []string
	rows, err := db.Query("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
	must(f.b, err)
	defer rows.Close()
	for rows.Next() {
		var name, text string
		must(f.b, rows.Scan(&name, &text))
		drop, again = append(drop, fmt.Sprintf("DROP TRIGGER %q", name)), append(again, text)
	}
	must(f.b, errors.Join(rows.Err(), rows.Close()))
	f.exec(db, drop...)
	return again
}

// exec runs statements as they are, in one transaction.
func (f *file) exec(db *sql.DB, statements ...string) {
	f.b.Helper()
	tx, err := db.Begin()
	must(f.b, err)
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	for _, s := range statements {
		_, err := tx.Exec(s)
		must(f.b, err)
	}
	must(f.b, tx.Commit())
}

// fill runs statements that the triggers would refuse.
func (f *file) fill(statements ...string) {
	f.b.Helper()
	db := f.connect()
	again := f.dropTriggers(db)
	f.exec(db, append(append(statements, again...), "ANALYZE")...)
}

// upTo makes a table n of the numbers from 0 to %d - 1.
const upTo = "WITH RECURSIVE n (n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM n WHERE n < %d - 1) "

// sqliteID is dealID(n) in SQL.
const sqliteID = "printf('00000000-0000-4000-8000-%%012x', n)"

// fund writes deals that are funded: dealID(0) to dealID(count-1). Each has an
// advertiser, 7, and an owner, 8.
func (f *file) fund(count int) {
	f.b.Helper()
	f.fill(fmt.Sprintf(upTo+`INSERT INTO deals
			(deal_id, status, version, last_event, entered_at, advertiser_id, owner_id, price_nano, deposit_address, deposit_tx, deposit_nano, escrow)
		SELECT `+sqliteID+`, 'FUNDED', 1, 'DEPOSIT_CONFIRMED', '%s', 7, 8, 100, 'address-' || n, 'tx-' || n, 100, 'held' FROM n`,
		count, now.Format(fsm.TimeLayout)), fileTold)
}

// fileTold gives each deal the history row without which it takes no step.
const fileTold = `INSERT OR IGNORE INTO deal_events (event_id, deal_id, version, event_type, to_status, transition)
	SELECT deal_id, deal_id, version, last_event, status, 'filled' FROM deals`

// fileConsents fires the event that is measured, as consents does on PostgreSQL.
type fileConsents struct {
	engine *engine.Engine[*sql.Tx]
	byHand fileByHand
	bare   fileByHand // in a file without triggers
	next   atomic.Int64
}

func newFileConsents(b *testing.B, sync sqlite.Synchronous) *fileConsents {
	ours, bare := newFile(b, sync), newFile(b, sync)
	c := &fileConsents{engine: ours.engine(nil, engine.Config{})} // nothing is delivered here
	ours.fund(deals)
	bare.engine(nil, engine.Config{})
	bare.fund(deals)
	c.byHand = newFileByHand(b, ours.connect())
	db := bare.connect()
	bare.dropTriggers(db)
	c.bare = newFileByHand(b, db)
	return c
}

func (c *fileConsents) id() fsm.UUID { return dealID(c.next.Add(1) % deals) }

func (c *fileConsents) fire(ctx context.Context) error {
	_, err := c.engine.Fire(ctx, "deal", c.id().String(), deal.MutualCancel{}, engine.Call{By: deal.ByAdvertiser(advertiser).Caller()})
	return err
}

func (c *fileConsents) fireByHand(ctx context.Context) error {
	return c.byHand.consent(ctx, c.id(), advertiser)
}

func (c *fileConsents) fireBare(ctx context.Context) error {
	return c.bare.consent(ctx, c.id(), advertiser)
}

// fireBatch fires as many events by FireBatch.
func (c *fileConsents) fireBatch(ctx context.Context, events int) error {
	batch := make([]engine.Firing, events)
	for i := range batch {
		batch[i] = engine.Firing{Machine: "deal", ID: c.id().String(), Event: deal.MutualCancel{}, Call: engine.Call{By: deal.ByAdvertiser(advertiser).Caller()}}
	}
	outcomes, err := c.engine.FireBatch(ctx, batch)
	for _, o := range outcomes {
		err = errors.Join(err, o.Err)
	}
	return err
}

// BenchmarkSQLite fires one event at a time through the engine, by hand, and by
// hand without triggers, then by FireBatch. The last of each level compares the
// ways in turns, so that whatever else the computer does meets all of them.
//
// With FULL, the store's default, every commit waits for the disk, which costs
// all of them the same; with NORMAL it does not.
func BenchmarkSQLite(b *testing.B) {
	for _, sync := range []sqlite.Synchronous{sqlite.Full, sqlite.Normal} {
		b.Run("sync="+string(sync), func(b *testing.B) {
			c := newFileConsents(b, sync)
			ways := []func(context.Context) error{c.fire, c.fireByHand, c.fireBare}
			for _, way := range ways { // prepares the statements
				by(b, 1, 10, way)
			}
			for i, name := range []string{"engine", "handwritten", "handwritten_no_triggers"} {
				b.Run(name, func(b *testing.B) {
					for b.Loop() {
						must(b, ways[i](context.Background()))
					}
				})
			}
			b.Run("turns", func(b *testing.B) { turns(b, ways) })
			b.Run("batch", func(b *testing.B) {
				const events = 1000
				rounds := 0
				for b.Loop() {
					must(b, c.fireBatch(context.Background(), events))
					rounds++
				}
				b.ReportMetric(rate(rounds*events, b.Elapsed()), "events/s")
			})
		})
	}
}

// turns lets engine, by hand and by hand without triggers take turns.
func turns(b *testing.B, ways []func(context.Context) error) {
	const events = 20
	took := make([]time.Duration, len(ways))
	rounds := 0
	for b.Loop() {
		for i := range ways {
			way := (rounds + i) % len(ways)
			took[way] += by(b, 1, events, ways[way])
		}
		rounds++
	}
	b.ReportMetric(rate(rounds*events, took[0]), "engine-events/s")
	b.ReportMetric(rate(rounds*events, took[1]), "by-hand-events/s")
	b.ReportMetric(rate(rounds*events, took[2]), "without-triggers-events/s")
	b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "of-by-hand")
	b.ReportMetric(float64((took[1]-took[2]).Microseconds())/float64(rounds*events), "trigger-us/event")
	b.ReportMetric(100*(took[1]-took[2]).Seconds()/took[0].Seconds(), "trigger-percent")
}

// fileByHand is what one would write for the advertiser's consent without the
// project: in one transaction the row is read and looked at in Go, then updated,
// and the history row and the two messages are inserted. All of it is prepared.
type fileByHand struct {
	db                            *sql.DB
	read, move, narrate, announce *sql.Stmt
}

const (
	fileRead = `SELECT deal_id, status, advertiser_id, owner_id, price_nano, deposit_address, deposit_tx, deposit_nano, escrow, creative,
		publish_at, advertiser_cancels, owner_cancels, version, entered_at FROM deals WHERE deal_id = ?`
	fileMove = `UPDATE deals SET advertiser_cancels = 1, version = version + 1, last_event = 'MUTUAL_CANCEL', updated_at = ?
		WHERE deal_id = ? AND status = 'FUNDED' AND version = ?`
	fileNarrate = `INSERT INTO deal_events
			(event_id, deal_id, version, event_type, from_status, to_status, transition, actor_role, actor_id, payload, correlation_id, created_at)
		VALUES (?, ?, ?, 'MUTUAL_CANCEL', 'FUNDED', 'FUNDED', 'consent_by_advertiser', 'advertiser', ?, '{}', ?, ?)`
	fileAnnounce = `INSERT INTO fsm_outbox
			(message_id, machine, record_id, version, seq, effect, destination, delivery, work, payload, correlation, created_at, state, attempts, available_at)
		VALUES (?, 'deal', ?, ?, ?, ?, ?, 'keyed', 0, ?, ?, ?, 'pending', 0, ?)`
)

func newFileByHand(b *testing.B, db *sql.DB) fileByHand {
	b.Helper()
	prepare := func(query string) *sql.Stmt {
		s, err := db.Prepare(query)
		must(b, err)
		return s
	}
	return fileByHand{db: db, read: prepare(fileRead), move: prepare(fileMove), narrate: prepare(fileNarrate), announce: prepare(fileAnnounce)}
}

// fileDeal is a row of deals.
type fileDeal struct {
	id, status               string
	advertiser, owner, price int64
	address, tx              *string
	deposit                  *int64
	escrow                   string
	creative, publishAt      *string
	advertiserCancels        bool
	ownerCancels             bool
	version                  int64
	enteredAt                string
}

// consent is MUTUAL_CANCEL by the advertiser.
func (h fileByHand) consent(ctx context.Context, id fsm.UUID, advertiser int64) error {
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	var d fileDeal
	err = tx.StmtContext(ctx, h.read).QueryRowContext(ctx, id.String()).Scan(&d.id, &d.status, &d.advertiser, &d.owner, &d.price, &d.address, &d.tx, &d.deposit,
		&d.escrow, &d.creative, &d.publishAt, &d.advertiserCancels, &d.ownerCancels, &d.version, &d.enteredAt)
	if err != nil {
		return err
	}
	if d.status != "FUNDED" || d.advertiser != advertiser || d.ownerCancels {
		return errors.New("not now, or not this one")
	}
	if err := h.write(ctx, tx, d); err != nil {
		return err
	}
	return tx.Commit()
}

func (h fileByHand) write(ctx context.Context, tx *sql.Tx, d fileDeal) error {
	at := time.Now().UTC()
	stamp, correlation, version := at.Format(fsm.TimeLayout), random(), d.version+1
	step := random() // the id of its history row
	notify, err := json.Marshal(map[string]any{"owner_id": d.owner, "status": d.status})
	if err != nil {
		return err
	}
	event, err := json.Marshal(map[string]any{
		"deal_id": d.id, "event_type": d.status, "from_status": d.status, "to_status": d.status, "actor_id": d.advertiser, "created_at": at,
	})
	if err != nil {
		return err
	}
	moved, err := tx.StmtContext(ctx, h.move).ExecContext(ctx, stamp, d.id, d.version)
	if err != nil {
		return err
	}
	if n, err := moved.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, errors.New("another writer was first"))
	}
	if _, err := tx.StmtContext(ctx, h.narrate).ExecContext(ctx, step, d.id, version, d.advertiser, correlation, stamp); err != nil {
		return err
	}
	announce := tx.StmtContext(ctx, h.announce)
	if _, err := announce.ExecContext(ctx, messageID(step, 0), d.id, version, 0, "notify_owner", "owner_notifications", string(notify), correlation, stamp, stamp); err != nil {
		return err
	}
	_, err = announce.ExecContext(ctx, messageID(step, 1), d.id, version, 1, "deal.events", "kafka", string(event), correlation, stamp, stamp)
	return err
}
