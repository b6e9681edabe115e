package registration_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// storage is the database of the daemon, as a test reads and breaks it.
type storage struct {
	t        *testing.T
	database *proxytest.Proxy // between the registry and PostgreSQL; nil with SQLite
	pool     *pgxpool.Pool    // to PostgreSQL directly; nil with SQLite
	schema   string           // there
	path     string           // of the SQLite file
	reader   *sql.DB          // of that file; see file
}

// messages lists the effects that are rows of the outbox, with their states.
func (s *storage) messages() (out []string) {
	s.t.Helper()
	const query = "SELECT effect || ' ' || state FROM %sfsm_outbox ORDER BY 1"
	read := func(next func() bool, scan func(...any) error) {
		for next() {
			var text string
			if err := scan(&text); err != nil {
				s.t.Fatal(err)
			}
			out = append(out, text)
		}
	}
	if s.pool != nil {
		rows, err := s.pool.Query(s.t.Context(), fmt.Sprintf(query, s.schema+"."))
		if err != nil {
			s.t.Fatal(err)
		}
		defer rows.Close()
		read(rows.Next, rows.Scan)
		return out
	}
	rows, err := s.file().Query(fmt.Sprintf(query, ""))
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	read(rows.Next, rows.Scan)
	return out
}

// effects reports whether an effect waits to be repeated, and how many attempts there were.
func (s *storage) effects() (waiting bool, attempts int64) {
	s.t.Helper()
	const query = "SELECT count(CASE WHEN state = 'retry_wait' AND NOT cancelled THEN 1 END) > 0, CAST(coalesce(sum(attempts), 0) AS bigint) FROM %sfsm_outbox"
	var err error
	if s.pool != nil {
		err = s.pool.QueryRow(s.t.Context(), fmt.Sprintf(query, s.schema+".")).Scan(&waiting, &attempts)
	} else {
		err = s.file().QueryRow(fmt.Sprintf(query, "")).Scan(&waiting, &attempts)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return waiting, attempts
}

// file is the database of a SQLite fixture, for reading.
func (s *storage) file() *sql.DB {
	s.t.Helper()
	if s.reader == nil {
		var err error
		if s.reader, err = sql.Open("sqlite", "file:"+s.path+"?mode=ro&_busy_timeout=10000"); err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _ = s.reader.Close() }) // nothing was written
	}
	return s.reader
}

// refuse makes PostgreSQL refuse to record a transition, until mend is called.
func (s *storage) refuse(transition string) (mend func()) {
	s.t.Helper()
	s.sql("ALTER TABLE " + s.schema + ".registration_history ADD CONSTRAINT broken CHECK (transition <> '" + transition + "')")
	return func() { s.sql("ALTER TABLE " + s.schema + ".registration_history DROP CONSTRAINT broken") }
}

func (s *storage) sql(statement string, args ...any) {
	s.t.Helper()
	if _, err := s.pool.Exec(s.t.Context(), statement, args...); err != nil {
		s.t.Fatal(err)
	}
}

// states are those of all nodes.
func (s *storage) states() map[string]string {
	s.t.Helper()
	rows, err := s.pool.Query(s.t.Context(), "SELECT node_id, state FROM "+s.schema+".registration_records")
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]string{}
	var node, state string
	if _, err := pgx.ForEachRow(rows, []any{&node, &state}, func() error { out[node] = state; return nil }); err != nil {
		s.t.Fatal(err)
	}
	return out
}

// watcher is a pool of the watch's own: what it asks must not wait for the test.
func (s *storage) watcher() *pgxpool.Pool {
	s.t.Helper()
	return openPool(s.t, s.pool.Config())
}

// holds is another transaction that has run a statement.
func (s *storage) holds(statement string, args ...any) (give func()) {
	s.t.Helper()
	tx, err := s.pool.Begin(s.t.Context())
	if err == nil {
		_, err = tx.Exec(s.t.Context(), statement, args...)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return sync.OnceFunc(func() {
		if err := tx.Rollback(context.Background()); err != nil {
			s.t.Error(err)
		}
	})
}

// rowText is the whole row of a node, "" for none.
func (s *storage) rowText(node string) (text string) {
	s.t.Helper()
	query := "SELECT coalesce(max(n::text), '') FROM " + s.schema + ".node_registrations AS n WHERE node_id = $1"
	if err := s.pool.QueryRow(s.t.Context(), query, node).Scan(&text); err != nil {
		s.t.Fatal(err)
	}
	return text
}

// versionOf is that of a registration's record.
func (s *storage) versionOf(id fsm.UUID) (version int64) {
	s.t.Helper()
	query := "SELECT version FROM " + s.schema + ".registration_records WHERE registration_id = $1"
	if err := s.pool.QueryRow(s.t.Context(), query, id.String()).Scan(&version); err != nil {
		s.t.Fatal(err)
	}
	return version
}
