package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strings"

	sqlite3 "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// The reasons why a file can't be used. Every method may return them, wrapped: errors.Is finds
// the reason and store.ErrStore.
var (
	// ErrFull is returned when a write exceeds the disk or Options.MaxBytes.
	ErrFull = errors.New("the disk is full, or the file has reached Options.MaxBytes")
	// ErrReadOnly is returned when the process may not write to the file.
	ErrReadOnly = errors.New("the process may not write to the file")
	// ErrGone is returned when the file is missing, can't be opened, or is not the one that Open
	// opened.
	ErrGone = errors.New("the file is gone or can't be opened")
	// ErrBusy is returned when other processes keep the file locked for Options.BusyTimeout.
	ErrBusy = errors.New("another process keeps the file locked")
	// ErrDamaged is returned when the content of the file is damaged or not that of SQLite.
	ErrDamaged = errors.New("the file is damaged or not an SQLite database")
)

// wrap returns err as a store.ErrStore that names the attempt, with the reason above that
// applies. An error that is store.ErrStore already stays as it is. A snapshot that is too old
// is store.ErrConflict. It returns nil for nil.
func wrap(attempt string, err error) error {
	if err == nil || errors.Is(err, store.ErrStore) {
		return err
	}
	if code(err)&0xff == codes.SQLITE_BUSY && code(err) != codes.SQLITE_BUSY {
		return fmt.Errorf("%s: %w: %w", attempt, store.ErrConflict, err) // another transaction has changed what this one read
	}
	if cause := causeOf(err); cause != nil {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return store.Failed(attempt, err)
}

func causeOf(err error) error {
	switch code(err) & 0xff {
	case codes.SQLITE_FULL:
		return ErrFull
	case codes.SQLITE_READONLY, codes.SQLITE_PERM:
		return ErrReadOnly
	case codes.SQLITE_CANTOPEN:
		return ErrGone
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return ErrBusy
	case codes.SQLITE_NOTADB, codes.SQLITE_CORRUPT:
		return ErrDamaged
	case codes.SQLITE_INTERRUPT:
		return context.Canceled
	}
	return nil
}

// broke reports whether err is a failure of the file or the connection. After one SQLite may
// have rolled back the transaction itself.
func broke(err error) bool {
	switch code(err) & 0xff {
	case codes.SQLITE_FULL, codes.SQLITE_IOERR, codes.SQLITE_NOMEM, codes.SQLITE_READONLY, codes.SQLITE_CANTOPEN, codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return true
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
}

// code returns SQLite's extended result code, or 0 for an error that is not SQLite's.
func code(err error) int {
	var e *sqlite3.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// refused reports whether a constraint, a trigger or a column type refused a write.
func refused(err error) bool { return code(err)&0xff == codes.SQLITE_CONSTRAINT }

// duplicate reports whether a unique index, or the trigger that stands for one, refused a write,
// and returns its table and columns.
func duplicate(err error) (table string, columns []string, ok bool) {
	if c := code(err); c != codes.SQLITE_CONSTRAINT_UNIQUE && c != codes.SQLITE_CONSTRAINT_PRIMARYKEY && c != codes.SQLITE_CONSTRAINT_TRIGGER {
		return "", nil, false
	}
	_, list, ok := strings.Cut(err.Error(), "UNIQUE constraint failed: ")
	if !ok {
		return "", nil, false
	}
	if i := strings.LastIndex(list, " ("); i >= 0 {
		list = list[:i] // the code
	}
	for _, name := range strings.Split(list, ", ") {
		t, column, _ := strings.Cut(name, ".")
		table, columns = t, append(columns, column)
	}
	return table, columns, true
}

// here returns ErrGone if the file that Open opened is not at its path any more. Without this
// check SQLite would write to a file that can't be opened again, and a new connection would
// apply the write-ahead log to another file, or remove it. It returns nil until Open has made
// the first connection.
func (s *Store) here() error {
	if s.file == nil {
		return nil
	}
	now, err := os.Stat(s.path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	if !os.SameFile(s.file, now) {
		return fmt.Errorf("%w: another file is at %s", ErrGone, s.path)
	}
	return nil
}

// columnsOf returns the columns of a table, generated ones included. It returns none if there
// is no such table.
func columnsOf(ctx context.Context, q querier, table string) ([]string, error) {
	return texts(ctx, q, "SELECT name FROM pragma_table_xinfo(?)", table)
}
