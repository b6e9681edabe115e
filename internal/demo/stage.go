package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/internal/demo/service"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// speed is how much faster the clock of the durable act runs: a minute a
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

// setting is what the two processes of the durable act share.
type setting struct {
	folder string
	clock  acceleratedClock
}

// The files of the durable act.
func (s setting) database() string { return filepath.Join(s.folder, "demo.db") }
func (s setting) logFile() string  { return filepath.Join(s.folder, "demo.log") }

// stage is one process's view of the database: an engine with all ten machines.
type stage struct {
	setting
	store  *sqlite.Store
	engine *engine.Engine[*sql.Tx]
	cast   []service.Role
	out    service.Outside
	log    *os.File
}

// open opens the database file and makes an engine.
func open(ctx context.Context, s setting) (*stage, error) {
	st := &stage{setting: s, out: service.Outside{Root: filepath.Join(s.folder, "outside"), Latency: 30 * time.Millisecond}}
	var err error
	if st.log, err = os.OpenFile(s.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
		return nil, err
	}
	// A commit that a killed process made survives it; that it also survives a
	// loss of power would cost the demo some seconds. Two busy processes share
	// the file, so each is patient.
	if st.store, err = sqlite.Open(ctx, s.database(), sqlite.Options{Synchronous: sqlite.Normal, BusyTimeout: time.Minute}); err != nil {
		return nil, errors.Join(err, st.close())
	}
	st.cast = service.Cast(st.out, st.store)
	var machines []engine.Machine[*sql.Tx]
	for _, role := range st.cast {
		machines = append(machines, role.Machine)
	}
	st.engine, err = engine.New(st.store, engine.Config{
		Clock:          s.clock,
		Logger:         slog.New(slog.NewJSONHandler(st.log, nil)),
		Lease:          lease,
		PollInterval:   50 * time.Millisecond,
		HandlerTimeout: 1500 * time.Millisecond,
		StopTimeout:    time.Second,
	}, machines...)
	if err != nil {
		return nil, errors.Join(err, st.close())
	}
	return st, nil
}

// migrate creates all tables.
func (st *stage) migrate(ctx context.Context) error {
	if err := st.engine.Migrate(ctx); err != nil {
		return err
	}
	return service.Migrate(ctx, st.store)
}

func (st *stage) close() error {
	var err error
	if st.store != nil {
		err = st.store.Close()
	}
	return errors.Join(err, st.log.Close())
}

// number reads one number.
func (st *stage) number(ctx context.Context, query string, args ...any) (n int, err error) {
	err = st.store.InTx(ctx, func(tx *sql.Tx) error { return tx.QueryRowContext(ctx, query, args...).Scan(&n) })
	if err != nil {
		return 0, fmt.Errorf("count: %w", err)
	}
	return n, nil
}

// rows calls read for each row.
func (st *stage) rows(ctx context.Context, read func(*sql.Rows) error, query string, args ...any) error {
	return st.store.InTx(ctx, func(tx *sql.Tx) error {
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
