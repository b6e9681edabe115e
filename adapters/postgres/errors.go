package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// UnknownOutcomeError is returned when the connection breaks during a commit. The commit may have
// succeeded. Fire again with the same idempotency key: after a commit the answer is a replay.
// errors.Is finds ErrStore.
type UnknownOutcomeError struct{ Err error }

func (e *UnknownOutcomeError) Error() string {
	return fmt.Sprintf("the outcome of the commit is unknown: %v", e.Err)
}

// Is makes errors.Is(err, store.ErrStore) hold.
func (e *UnknownOutcomeError) Is(target error) bool { return target == store.ErrStore }

// Unwrap returns the error of the connection.
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// SearchPathError is returned by Migrate and MigrateTo if the search path of the pool's connections
// does not begin with the store's schema.
type SearchPathError struct {
	Schema  string // the schema of the store
	Current string // the first schema of the search path
}

func (e *SearchPathError) Error() string {
	return fmt.Sprintf("the first schema of the search path is %q and not %q: make the pool with PoolConfig", e.Current, e.Schema)
}

// SQLSTATEs that the store tells apart. FS001 to FS007 come from the triggers
// of the machines, FS101 and up from migration 0002.
const (
	transactionRollback = "40"    // a class: serialisation failures, deadlocks
	lockNotAvailable    = "55P03" // within lock_timeout
	readOnly            = "25006" // a standby, or a server that is set so
	uniqueViolation     = "23505"
	stateConflict       = "FS101"
	stateLeaseLost      = "FS102"
	stateMessageMoved   = "FS103"
)

// wrap returns err as store.ErrConflict if PostgreSQL rolled back the transaction because of another
// one, and else as store.ErrStore. It returns nil for nil.
func wrap(attempt string, err error) error {
	if err == nil {
		return nil
	}
	if raced(err) {
		return fmt.Errorf("%s: %w: %w", attempt, store.ErrConflict, err)
	}
	return store.Failed(attempt, err)
}

// raced reports whether PostgreSQL rolled back a transaction because of another one.
func raced(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.Code == lockNotAvailable || strings.HasPrefix(refused.Code, transactionRollback))
}

// ailing reports whether the server failed, and not the statement: it lacks a resource, an operator
// or a timeout intervened, the system or PostgreSQL itself failed, or the server is read-only.
func ailing(err error) bool {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return false
	}
	ail := func(class string) bool { return strings.HasPrefix(refused.Code, class) }
	return refused.Code == readOnly || slices.ContainsFunc([]string{"53", "57", "58", "XX"}, ail)
}

// subject is the commit, or the commits, that a statement of Save writes.
type subject struct {
	commit *store.Commit
	keys   []*store.IdempotencyKey // that the statement inserts
	// expected is the version that the record should have had.
	expected int64
	several  []*store.Commit // all commits of the statement, of one machine; commit is the first
	level    int             // of several: the index of the step
}

// named returns the subject for the record with this id. If none of several has the id, the subject
// has only the machine.
func (about subject) named(id string) subject {
	if len(about.several) == 0 {
		return about
	}
	for _, c := range about.several {
		if c.ID == id {
			return subject{commit: c, expected: c.Steps[about.level].Version - 1}
		}
	}
	return subject{commit: &store.Commit{Machine: about.commit.Machine, Tables: about.commit.Tables}}
}

// holder returns the id of the record, of several, that exists already. It returns "" if another
// constraint failed.
func (about subject) holder(refused *pgconn.PgError) string {
	if refused.ConstraintName != about.commit.Tables.Record+"_pkey" {
		return ""
	}
	for _, c := range about.several {
		if strings.Contains(refused.Detail, "=("+c.ID+")") {
			return c.ID
		}
	}
	return ""
}

// explain returns the error of Save for the error of a statement.
func explain(about subject, err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || raced(err) {
		return wrap("save", err)
	}
	if refused.Code == stateConflict {
		return conflict(about, refused.Detail)
	}
	about = about.named(about.holder(refused))
	c := about.commit
	switch {
	case refused.Code == stateLeaseLost:
		return store.ErrLeaseLost
	case refused.Code == stateMessageMoved:
		return store.ErrConflict
	case refused.Code == uniqueViolation:
		return taken(about, refused)
	case strings.HasPrefix(refused.Code, "FS"), strings.HasPrefix(refused.Code, "23"), strings.HasPrefix(refused.Code, "22"):
		return &store.RefusedError{Machine: c.Machine, ID: c.ID, Err: err}
	}
	return wrap("save", err)
}

// conflict returns the error for the detail that fsm_conflict reports.
func conflict(about subject, detail string) error {
	var now struct {
		ID      string
		Version int64
		State   string
	}
	_ = json.Unmarshal([]byte(detail), &now) // without it, what is there now is unknown
	about = about.named(now.ID)
	c := about.commit
	return &store.ConflictError{Machine: c.Machine, ID: c.ID, Expected: about.expected, Version: now.Version, State: now.State}
}

// taken returns the error for a unique constraint that failed.
func taken(about subject, refused *pgconn.PgError) error {
	c := about.commit
	switch {
	case refused.ConstraintName == "fsm_keys_pkey":
		for _, k := range about.keys {
			if strings.Contains(refused.Detail, "("+k.Machine+", "+k.Key+")") {
				return &store.KeyError{Machine: k.Machine, Key: k.Key}
			}
		}
		return &store.KeyError{Machine: c.Machine, Key: refused.Detail}
	case strings.HasPrefix(refused.TableName, "fsm_"):
		return wrap("save", refused)
	case refused.ConstraintName == c.Tables.Record+"_pkey":
		return &store.ExistsError{Machine: c.Machine, ID: c.ID}
	}
	return &store.UniqueError{Machine: c.Machine, ID: c.ID, Constraint: refused.ConstraintName, Err: refused}
}

// usable returns an error if a commit can't be sent.
func usable(ctx context.Context, conn *pgx.Conn) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if conn.IsClosed() {
		return errors.New("the connection is closed")
	}
	return nil
}

// ended returns the error for a commit that was sent and failed. An error of the server is certain,
// unless the server was closing the connection. ended does not use pgconn.SafeToRetry: if a
// connection broke while pgx was reading, that reports that nothing was sent.
func ended(conn *pgx.Conn, err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.SeverityUnlocalized != "FATAL" && refused.SeverityUnlocalized != "PANIC" {
		return wrap("commit", err)
	}
	if !conn.IsClosed() {
		return wrap("commit", err)
	}
	return fmt.Errorf("commit: %w", &UnknownOutcomeError{Err: err})
}
