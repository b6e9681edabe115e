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

// Why a file can't be used. Each comes wrapped, and errors.Is(err,
// store.ErrStore) holds too.
var (
	ErrFull     = errors.New("the disk or the file's size limit is full")
	ErrReadOnly = errors.New("the file can't be written to")
	ErrGone     = errors.New("the file is gone or can't be opened")
	ErrBusy     = errors.New("another process keeps the file locked")
	ErrDamaged  = errors.New("the file is no SQLite database or is damaged")
)

// wrap names the attempt and makes err an store.ErrStore, unless it already
// says something better. It keeps nil.
func wrap(attempt string, err error) error {
	if err == nil || errors.Is(err, store.ErrStore) {
		return err
	}
	if code(err)&0xff == codes.SQLITE_BUSY && code(err) != codes.SQLITE_BUSY {
		return fmt.Errorf("%s: %w: %w", attempt, store.ErrConflict, err) // what was read is not what is there now
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

// broke reports whether an error of a transaction is that of the file, and not
// of what was done in it: SQLite may have rolled it back by itself.
func broke(err error) bool {
	switch code(err) & 0xff {
	case codes.SQLITE_FULL, codes.SQLITE_IOERR, codes.SQLITE_NOMEM, codes.SQLITE_READONLY, codes.SQLITE_CANTOPEN, codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return true
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
}

// code returns the extended result code, 0 for an error of another kind.
func code(err error) int {
	var e *sqlite3.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// refused reports whether a constraint, a trigger or a column type stood in the
// way.
func refused(err error) bool { return code(err)&0xff == codes.SQLITE_CONSTRAINT }

// duplicate reports whether a unique index stood in the way, or the trigger that
// speaks for it, and over which columns of which table.
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

// here returns ErrGone if the file that was opened is no longer at its path:
// SQLite would go on writing to what can't be opened again, and a new connection
// would apply the write-ahead log to another file, or remove it. While Open makes
// the first connection there is nothing to compare with.
func (s *Store) here() error {
	if s.file == nil {
		return nil
	}
	now, err := os.Stat(s.path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	if !os.SameFile(s.file, now) {
		return fmt.Errorf("%w: another one is at %s", ErrGone, s.path)
	}
	return nil
}

// columnsOf returns the columns of a table, none if there is no such table.
// Generated ones are among them.
func columnsOf(ctx context.Context, q querier, table string) ([]string, error) {
	return texts(ctx, q, "SELECT name FROM pragma_table_xinfo(?)", table)
}
