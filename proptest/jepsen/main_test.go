//go:build unix

package jepsen_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/racing"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// orderVariable holds the order of a child process as JSON.
const orderVariable = "FSMGEN_JEPSEN_ORDER"

// Times of every engine of a round. They are short, so that a round sees many leases.
const (
	lease          = 2 * time.Second
	handlerTimeout = 4 * time.Second
	storeTimeout   = time.Second
	pollInterval   = 100 * time.Millisecond
)

// order says what a child process does.
type order struct {
	Role     string // worker or loader
	Name     string // of this process; another process never has it
	Postgres string // connection string
	File     string // SQLite file, where Postgres is empty
	MaxBytes int64  // bound of File
	Outside  string // URL of the outside world
	Journal  string // file that the process appends to
	Seed     uint64
	Weakness string // of the store; empty: none
}

func TestMain(m *testing.M) {
	text := os.Getenv(orderVariable)
	if text == "" {
		if err := racing.HurryChildren(); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	if err := o.carryOut(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// carryOut runs the child until its standard input ends, as it does when the parent ends.
func (o order) carryOut() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the end is what counts
		cancel()
	}()
	if o.Postgres != "" {
		return act(ctx, o, postgresDatabase(o.Postgres))
	}
	return act(ctx, o, sqliteDatabase(o.File, o.MaxBytes))
}

// act plays the role of the child on a database.
func act[Tx any](ctx context.Context, o order, db database[Tx]) error {
	journal, err := openJournal(o.Journal)
	if err != nil {
		return err
	}
	inner, closeStore, err := openAgain(ctx, db)
	if err != nil {
		return nil // the child was told to end before the database could be opened
	}
	defer closeStore()
	h := handlers[Tx]{outside: newClient(o.Outside, o.Name, journal), book: db.book}
	e, err := engineOn(weaken(inner, o.Weakness, o.Seed), h, o.Name, os.Stderr)
	if err != nil {
		return err
	}
	if o.Role == "loader" {
		return newLoader(e, journal, o).run(ctx)
	}
	return e.Run(ctx)
}

// openAgain opens the store, again after each failure, as a supervisor would. It fails
// when ctx ends.
func openAgain[Tx any](ctx context.Context, db database[Tx]) (store.Store[Tx], func(), error) {
	for {
		inner, closeStore, err := db.open(ctx)
		if err == nil || ctx.Err() != nil {
			return inner, closeStore, err
		}
		fmt.Fprintln(os.Stderr, err)
		pass(ctx, pollInterval)
	}
}

// engineOn returns an engine of the machine payment with the times of a round.
func engineOn[Tx any](s store.Store[Tx], h handlers[Tx], name string, log io.Writer) (*engine.Engine[Tx], error) {
	return engine.New(s, engine.Config{
		Worker: name, Lease: lease, PollInterval: pollInterval, HandlerTimeout: handlerTimeout,
		StoreTimeout: storeTimeout, StopTimeout: time.Second, Retry: retryOfTheRest,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	}, define(h))
}
