package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// bind returns a value of [fsm.Plain] as the tables store it: times as text of one width, lists as
// JSON, bools as 0 and 1.
func bind(v any) (any, error) {
	switch v := v.(type) {
	case nil, string, int64:
		return v, nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case time.Time:
		return instant(v), nil
	}
	if reflect.ValueOf(v).Kind() == reflect.Slice {
		text, err := json.Marshal(v)
		return string(text), err
	}
	return nil, fmt.Errorf("SQLite can't store a %T", v)
}

func bindAll(values []any) ([]any, error) {
	out := make([]any, len(values))
	for i, v := range values {
		var err error
		if out[i], err = bind(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func instant(t time.Time) string { return fsm.Instant(t).Format(fsm.TimeLayout) }

func optionalInstant(t fsm.Optional[time.Time]) any {
	if !t.IsSet {
		return nil
	}
	return instant(t.V)
}

// null returns nil for an empty text.
func null[T ~string | ~[]byte](v T) any {
	if len(v) == 0 {
		return nil
	}
	return string(v)
}

// cells reads the columns of one row in their order. For a column that can't be read it returns the
// zero value and keeps the error in err. The columns behind it can still be read.
type cells struct {
	names  []string
	values []any
	at     int
	err    error
}

// readCells reads the columns of the current row.
func readCells(rows *sql.Rows) (*cells, error) {
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	c := &cells{names: names, values: make([]any, len(names))}
	into := make([]any, len(names))
	for i := range into {
		into[i] = &c.values[i]
	}
	return c, rows.Scan(into...)
}

func (c *cells) next() any {
	v := c.values[c.at]
	c.at++
	return v
}

func (c *cells) fail(err error) {
	c.err = errors.Join(c.err, fmt.Errorf("column %s: %w", c.names[c.at-1], err))
}

// into scans the next column into dest, a pointer.
func (c *cells) into(dest any) {
	if err := fsm.Into(dest).Scan(c.next()); err != nil {
		c.fail(err)
	}
}

// text reads a text. It returns "" for null.
func (c *cells) text() string {
	switch v := c.next().(type) {
	case nil:
		return ""
	case string:
		return v
	case int64: // the id of an actor
		return fmt.Sprint(v)
	default:
		c.fail(fmt.Errorf("it has a %T, not a text", v))
		return ""
	}
}

func (c *cells) int() (n int64)      { c.into(&n); return n }
func (c *cells) bool() (b bool)      { c.into(&b); return b }
func (c *cells) time() (t time.Time) { c.into(&t); return t }

func (c *cells) optionalTime() (t fsm.Optional[time.Time]) { c.into(&t); return t }

// json reads a JSON text. It returns nil for null.
func (c *cells) json() json.RawMessage {
	text := c.text()
	if text == "" {
		return nil
	}
	if !json.Valid([]byte(text)) {
		c.fail(errors.New("it has text that is not JSON"))
	}
	return json.RawMessage(text)
}

// each calls f with every row that a query returns.
func each(ctx context.Context, q querier, f func(*cells), query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return cause(ctx, err)
	}
	defer rows.Close()
	for rows.Next() {
		c, err := readCells(rows)
		if err != nil {
			return cause(ctx, err)
		}
		f(c)
	}
	return cause(ctx, rows.Err())
}

// texts returns the only column of every row that a query returns.
func texts(ctx context.Context, q querier, query string, args ...any) (list []string, err error) {
	err = each(ctx, q, func(c *cells) { list = append(list, c.text()) }, query, args...)
	return list, err
}
