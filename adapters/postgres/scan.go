package postgres

import (
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// scan reads the present row. Unlike rows.Scan it leaves rows usable when a
// column can't be read, so that the rows behind a corrupt one are still found;
// and it reads as many of the columns as it can.
func scan(rows pgx.Rows, dest ...any) error {
	types, fields, values := rows.Conn().TypeMap(), rows.FieldDescriptions(), rows.RawValues()
	if len(dest) != len(fields) {
		return fmt.Errorf("%d columns for %d variables", len(fields), len(dest))
	}
	var problems []error
	for i, f := range fields {
		if err := types.Scan(f.DataTypeOID, f.Format, values[i], dest[i]); err != nil {
			problems = append(problems, fmt.Errorf("column %s: %w", f.Name, err))
		}
	}
	return errors.Join(problems...)
}

// text reads a text where null is "".
type text struct{ dest *string }

// Scan implements sql.Scanner.
func (t text) Scan(src any) error {
	if src == nil {
		*t.dest = ""
		return nil
	}
	return fsm.Into(t.dest).Scan(src)
}

// instant reads a time in UTC.
func instant(dest *time.Time) fsm.Scanner { return fsm.Into(dest) }

// optionalInstant reads a time that may be null.
func optionalInstant(dest *fsm.Optional[time.Time]) fsm.Scanner { return fsm.Into(dest) }

// nullable returns s for the database, where an empty text is null.
func nullable[T ~string | ~[]byte](s T) *string {
	if len(s) == 0 {
		return nil
	}
	v := string(s)
	return &v
}

func nullableInstant(t fsm.Optional[time.Time]) *time.Time {
	if !t.IsSet {
		return nil
	}
	return &t.V
}

// column collects one column of many rows, to be sent as an array.
func column[R, V any](rows []R, value func(R) V) []V {
	out := make([]V, len(rows))
	for i, r := range rows {
		out[i] = value(r)
	}
	return out
}
