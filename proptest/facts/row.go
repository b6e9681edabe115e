package facts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Query runs a query and calls read for each row.
func Query(ctx context.Context, db *sql.DB, query string, read func(*Row)) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	for rows.Next() {
		r := Row{values: make([]any, len(columns))}
		pointers := make([]any, len(columns))
		for i := range pointers {
			pointers[i] = &r.values[i]
		}
		if err := rows.Scan(pointers...); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
		if read(&r); r.err != nil {
			return fmt.Errorf("%s: %w", query, r.err)
		}
	}
	return rows.Err()
}

// list returns what read makes of each row.
func list[V any](ctx context.Context, db *sql.DB, query string, read func(*Row) V) (out []V, err error) {
	err = Query(ctx, db, query, func(r *Row) { out = append(out, read(r)) })
	return out, err
}

// Row is a row whose columns are read one after the other. It converts the types that the
// drivers of the databases return. Query returns the first error of a conversion.
type Row struct {
	values []any
	err    error
}

func (r *Row) next() any {
	if len(r.values) == 0 {
		r.fail(errors.New("the row has fewer columns"))
		return nil
	}
	v := r.values[0]
	r.values = r.values[1:]
	return v
}

func (r *Row) fail(err error) { r.err = errors.Join(r.err, err) }

// Present reports whether the next column is not null.
func (r *Row) Present() bool { return r.next() != nil }

// Text returns the next column, "" for null.
func (r *Row) Text() string {
	switch v := r.next().(type) {
	case nil:
		return ""
	case []byte:
		return string(v)
	default:
		return fsm.Text(v)
	}
}

// Int returns the next column, which must be an integer.
func (r *Row) Int() int64 {
	switch v := r.next().(type) {
	case int64:
		return v
	default:
		r.fail(fmt.Errorf("%v (%T) is no integer", v, v))
		return 0
	}
}

// Bool returns the next column, false for null.
func (r *Row) Bool() bool {
	switch v := r.next().(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	default:
		r.fail(fmt.Errorf("%v (%T) is neither true nor false", v, v))
		return false
	}
}

// Time returns the next column in UTC, the zero time for null.
func (r *Row) Time() time.Time {
	switch v := r.next().(type) {
	case nil:
		return time.Time{}
	case time.Time:
		return v.UTC()
	case string:
		t, err := time.Parse(time.RFC3339Nano, v)
		if err != nil {
			r.fail(err)
		}
		return t.UTC()
	default:
		r.fail(fmt.Errorf("%v (%T) is no time", v, v))
		return time.Time{}
	}
}
