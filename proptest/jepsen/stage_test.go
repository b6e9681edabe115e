//go:build unix

package jepsen_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// stage is a database with everything that can befall it.
type stage struct {
	name    string
	sql     *sql.DB // of the harness
	workers int
	place   func(i int) order // where process i finds the database
	faults  []fault
	// resolve decides on every dead letter, as an operator does.
	resolve func(ctx context.Context, r *rand.Rand) error
}

// postgresStage has three workers and a loader on a server, each behind a proxy of
// its own.
func postgresStage(t testing.TB) stage {
	t.Helper()
	const workers = 3
	s := pgtest.NewServer(t, "fsync=on", "synchronous_commit=on")
	var proxies []*proxytest.Proxy
	for range workers + 1 {
		proxies = append(proxies, proxytest.New(t, "unix", s.Socket()))
	}
	db, err := openSQL("pgx", s.DSN())
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return stage{
		name: "PostgreSQL", sql: db, workers: workers,
		place: func(i int) order {
			host, port, _ := strings.Cut(proxies[i].Address(), ":")
			return order{Postgres: fmt.Sprintf("host=%s port=%s user=postgres dbname=postgres sslmode=disable connect_timeout=1 pool_max_conns=8", host, port)}
		},
		faults:  append(proxyFaults(proxies), serverFaults(s)...),
		resolve: prepare[pgx.Tx](t, postgresDatabase(s.DSN()), db, postgresWatch),
	}
}

// sqliteStage has two workers and a loader on a file.
func sqliteStage(t testing.TB) stage {
	t.Helper()
	const most = 48 << 20
	file := filepath.Join(t.TempDir(), "jepsen.db")
	db, err := openSQL("sqlite", "file:"+file+"?_pragma=busy_timeout(20000)")
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	resolve := prepare[*sql.Tx](t, sqliteDatabase(file, 0), db, append(sqliteWatch, "CREATE TABLE jepsen_ballast (x blob)"))
	return stage{
		name: "SQLite", sql: db, workers: 2,
		place:   func(int) order { return order{File: file, MaxBytes: most} },
		faults:  fileFaults(t, file, most),
		resolve: resolve,
	}
}

// prepare makes the tables, and returns what an operator does with dead letters:
// work is requeued, since its record waits for it, and some of the rest is discarded.
func prepare[Tx any](t testing.TB, db database[Tx], conn *sql.DB, watch []string) func(context.Context, *rand.Rand) error {
	t.Helper()
	store, closeStore, err := db.open(t.Context())
	must(t, err)
	t.Cleanup(closeStore)
	e, err := engineOn(store, handlers[Tx]{}, "operator", io.Discard)
	must(t, err)
	must(t, e.Migrate(t.Context()))
	for _, statement := range watch {
		_, err := conn.ExecContext(t.Context(), statement)
		must(t, err)
	}
	return func(ctx context.Context, r *rand.Rand) error {
		const most = 100
		letters, err := e.DeadLetters(ctx, engine.Filter{}, "", most)
		if err != nil {
			return err
		}
		for _, l := range letters {
			decide := e.Requeue
			if !l.Work && r.IntN(4) == 0 {
				decide = e.Discard
			}
			if err := decide(ctx, l.MessageID, "operator", "all faults have ended"); err != nil {
				return err
			}
		}
		return nil
	}
}

// fileFaults befall a SQLite file: the disk is full, or another process keeps it locked.
func fileFaults(t testing.TB, file string, most int64) []fault {
	t.Helper()
	// It waits for the processes, but not for one that the nemesis has stopped.
	db, err := openSQL("sqlite", "file:"+file+"?_pragma=busy_timeout(300)")
	must(t, err)
	conn, err := db.Conn(t.Context())
	must(t, err)
	t.Cleanup(func() {
		must(t, conn.Close())
		must(t, db.Close())
	})
	d := disk{t, conn}
	var pageSize int64
	must(t, conn.QueryRowContext(t.Context(), "PRAGMA page_size").Scan(&pageSize))
	d.exec(fmt.Sprintf("PRAGMA max_page_count = %d", most/pageSize))
	v := newTargets("file", d)
	return []fault{
		{"full disks", v.lasting(disk.fill, disk.makeRoom, lease/4, lease)},
		{"locks of others", v.lasting(disk.lock, disk.unlock, lease/4, lease)},
	}
}

// disk is a SQLite file as another process sees it, which can take up all its room.
// Each method reports false where the file is locked.
type disk struct {
	t    testing.TB
	conn *sql.Conn
}

// exec runs a statement. It returns how it failed, which may be "full" or "locked".
func (d disk) exec(statement string) (failure string) {
	d.t.Helper()
	_, err := d.conn.ExecContext(context.WithoutCancel(d.t.Context()), statement)
	switch {
	case err == nil:
		return ""
	case strings.Contains(err.Error(), "full"):
		return "full"
	case strings.Contains(err.Error(), "locked"):
		return "locked"
	}
	d.t.Fatal(err)
	return ""
}

// fill takes up what is left of the file, or as much as it can before the file is locked.
func (d disk) fill() bool {
	began := false
	for size := 1 << 22; size > 1<<10; {
		switch d.exec(fmt.Sprintf("INSERT INTO jepsen_ballast VALUES (zeroblob(%d))", size)) {
		case "full":
			size /= 2
		case "locked":
			return began
		}
		began = true
	}
	return true
}

func (d disk) makeRoom() bool { return d.exec("DELETE FROM jepsen_ballast") == "" }
func (d disk) lock() bool     { return d.exec("BEGIN IMMEDIATE") == "" }
func (d disk) unlock() bool   { return d.exec("COMMIT") == "" }
