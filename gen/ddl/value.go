package ddl

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// SQLiteTime is the layout of every time in a SQLite schema: UTC, microseconds,
// fixed width, so that text order is time order.
const SQLiteTime = "2006-01-02T15:04:05.000000Z"

// SQLiteValue is v as an argument for a SQLite driver: nil, int64 (a bool is 0
// or 1, a duration its nanoseconds) or string (a list is a JSON array).
func SQLiteValue(t ir.Type, v ir.Value) (any, error) {
	switch v := v.(type) {
	case nil, string, int64:
		return v, nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case time.Time:
		return v.UTC().Format(SQLiteTime), nil
	case time.Duration:
		return int64(v), nil
	case []any:
		return jsonList(t, v)
	}
	return nil, fmt.Errorf("a value of type %T is no %s", v, t)
}

// PostgresValue is v as an argument for pgx. A list becomes a slice of its
// element's Go type; a list of lists becomes JSON text.
func PostgresValue(t ir.Type, v ir.Value) (any, error) {
	switch v := v.(type) {
	case nil, string, int64, bool, time.Time:
		return v, nil
	case time.Duration:
		return int64(v), nil
	case []any:
		if isNested(t) {
			return jsonList(t, v)
		}
		return arrayValue(t, v)
	}
	return nil, fmt.Errorf("a value of type %T is no %s", v, t)
}

func arrayValue(t ir.Type, items []any) (any, error) {
	switch t.Elem.Base {
	case ir.String, ir.UUID, ir.JSON, ir.EnumOf:
		return slice[string](t, items)
	case ir.Int:
		return slice[int64](t, items)
	case ir.Bool:
		return slice[bool](t, items)
	case ir.Time:
		return slice[time.Time](t, items)
	case ir.Duration:
		ds, err := slice[time.Duration](t, items)
		ns := make([]int64, len(ds))
		for i, d := range ds {
			ns[i] = int64(d)
		}
		return ns, err
	case ir.ListOf: // is JSON text
	}
	return nil, ir.NoForm("ddl.arrayValue", t.Elem.Base)
}

func slice[T any](t ir.Type, items []any) ([]T, error) {
	out := make([]T, len(items))
	for i, item := range items {
		v, ok := item.(T)
		if !ok {
			return nil, fmt.Errorf("element %d of type %T is no %s", i, item, t.Elem)
		}
		out[i] = v
	}
	return out, nil
}

// jsonList is the compact JSON array of a list.
func jsonList(t ir.Type, items []any) (string, error) {
	parts := make([]string, len(items))
	for i, item := range items {
		text, err := jsonElement(*t.Elem, item)
		if err != nil {
			return "", fmt.Errorf("element %d: %w", i, err)
		}
		parts[i] = text
	}
	return "[" + strings.Join(parts, ",") + "]", nil
}

func jsonElement(t ir.Type, v ir.Value) (string, error) {
	switch v := v.(type) {
	case []any:
		return jsonList(t, v)
	case int64:
		return strconv.FormatInt(v, 10), nil
	case bool:
		return strconv.FormatBool(v), nil
	case time.Duration:
		return strconv.FormatInt(int64(v), 10), nil
	case time.Time:
		return strconv.Quote(v.UTC().Format(SQLiteTime)), nil
	case string:
		return jsonText(t, v)
	}
	return "", fmt.Errorf("a value of type %T is no %s", v, t)
}

// jsonText is the JSON of a value that is a string in the compiler.
func jsonText(t ir.Type, v string) (string, error) {
	switch t.Base {
	case ir.JSON:
		return v, nil
	case ir.String, ir.UUID, ir.EnumOf:
		return jsonString(v)
	case ir.Int, ir.Bool, ir.Time, ir.Duration, ir.ListOf: // are no strings
	}
	return "", ir.NoForm("ddl.jsonText", t.Base)
}

// jsonString quotes s without the escapes that only HTML needs.
func jsonString(s string) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return "", fmt.Errorf("encode %q: %w", s, err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// literal is v as SQL text.
func (d dialect) literal(t ir.Type, v ir.Value) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return d.textLiteral(t, v)
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		return strconv.FormatBool(v)
	case time.Duration:
		return strconv.FormatInt(int64(v), 10)
	case time.Time:
		return d.traits().timePrefix + quote(v.UTC().Format(SQLiteTime))
	case []any:
		return d.listLiteral(t, v)
	}
	panic(ir.NoForm("ddl.literal", fmt.Sprintf("the Go type %T", v)))
}

// textLiteral is v, the text of a string, uuid, json or enum.
func (d dialect) textLiteral(t ir.Type, v string) string {
	if col := d.columnType(t); d.traits().casts && col != "text" {
		return quote(v) + "::" + col
	}
	return quote(v)
}

func (d dialect) listLiteral(t ir.Type, items []any) string {
	if d.traits().arrays && !isNested(t) {
		return "ARRAY[" + strings.Join(d.literals(*t.Elem, items), ", ") + "]::" + d.columnType(t)
	}
	text, err := jsonList(t, items)
	if err != nil {
		// The lowering types every literal, so its elements fit.
		text = "[]"
	}
	return d.textLiteral(t, text)
}

func (d dialect) literals(t ir.Type, items []any) []string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = d.literal(t, item)
	}
	return out
}
