package main

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/internal/demo/service"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// speed is how much faster the clock of the durable part runs: a minute a
// second. Deadlines, leases and pauses before a repeat follow it.
const speed = 60

// lease is how long a worker holds an effect that it does not report on: three
// seconds by the wall clock.
const lease = 3 * time.Minute

// acceleratedClock runs from start on, speed times as fast as the wall clock.
// Two processes with the same origin agree on the time.
type acceleratedClock struct{ origin time.Time }

// Now implements engine.Clock.
func (c acceleratedClock) Now() time.Time { return start.Add(time.Since(c.origin) * speed) }

// setting is what the two processes of the durable part share.
type setting struct {
	folder string
	clock  acceleratedClock
}

// The files of the durable part.
func (s setting) database() string { return filepath.Join(s.folder, "demo.db") }
func (s setting) logFile() string  { return filepath.Join(s.folder, "demo.log") }

// app is what a process has of the database: an engine with all eleven machines.
type app struct {
	setting
	store    *sqlite.Store
	engine   *engine.Engine[*sql.Tx]
	machines []engine.Machine[*sql.Tx]
	out      service.Outside
	log      *os.File
}

// open opens the database file and makes an engine.
func open(ctx context.Context, s setting) (*app, error) {
	a := &app{setting: s, out: service.Outside{Root: filepath.Join(s.folder, "outside"), Latency: 30 * time.Millisecond}}
	var err error
	if a.log, err = os.OpenFile(s.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
		return nil, err
	}
	// A commit that a killed process made survives it; that it also survives a
	// loss of power would cost the demo some seconds.
	if a.store, err = sqlite.Open(ctx, s.database(), sqlite.Options{Synchronous: sqlite.Normal, BusyTimeout: time.Minute}); err != nil {
		return nil, errors.Join(err, a.close())
	}
	a.machines = service.Machines(a.out)
	a.engine, err = engine.New(a.store, engine.Config{
		Clock:          s.clock,
		Logger:         slog.New(slog.NewJSONHandler(a.log, nil)),
		Lease:          lease,
		PollInterval:   50 * time.Millisecond,
		HandlerTimeout: 1500 * time.Millisecond,
		StopTimeout:    time.Second,
	}, a.machines...)
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

// migrate creates all tables.
func (a *app) migrate(ctx context.Context) error {
	if err := a.engine.Migrate(ctx); err != nil {
		return err
	}
	return a.store.InTx(ctx, func(tx *sql.Tx) error { return service.Migrate(ctx, tx) })
}

func (a *app) close() error {
	var err error
	if a.store != nil {
		err = a.store.Close()
	}
	return errors.Join(err, a.log.Close())
}

// number reads one number.
func (a *app) number(ctx context.Context, query string) (n int, err error) {
	err = a.rows(ctx, func(r *sql.Rows) error { return r.Scan(&n) }, query)
	return n, err
}

// rows calls read for each row.
func (a *app) rows(ctx context.Context, read func(*sql.Rows) error, query string, args ...any) error {
	return a.store.InTx(ctx, func(tx *sql.Tx) error {
		found, err := tx.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer func() { _ = found.Close() }() // what Err returns is what counts
		for found.Next() {
			if err := read(found); err != nil {
				return err
			}
		}
		return found.Err()
	})
}
