package fsm

import (
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// Scanner is sql.Scanner, which this package must not import.
type Scanner interface{ Scan(src any) error }

// Into returns a scanner that stores a column into the variable dest points
// to: any type that a generated record has. Times may come as text in
// [TimeLayout], lists as JSON or as a PostgreSQL array literal.
func Into(dest any) Scanner { return column{dest} }

type column struct{ dest any }

func (c column) Scan(src any) error { return assign(c.dest, src) }

// Plain returns what a store sends to its driver for a field of a record: nil,
// string, int64, bool, time.Time, []string, []int64 or []bool. Enums, UUIDs and
// JSON are strings, durations are nanoseconds.
func Plain(v any) any {
	switch v := v.(type) {
	case nil, string, int64, bool, []string, []int64:
		return v
	case time.Time:
		return Instant(v)
	case time.Duration:
		return int64(v)
	case interface{ plain() any }:
		return v.plain()
	case driver.Valuer:
		if plain, err := v.Value(); err == nil {
			return plain
		}
		return nil
	}
	if list := reflect.ValueOf(v); list.Kind() == reflect.Slice {
		return plainList(list)
	}
	return v
}

// plainList returns the elements of a list as they are stored: bools as they are, durations as
// numbers, and all others whose type is not plain as text.
func plainList(list reflect.Value) any {
	switch elem := list.Type().Elem(); {
	case elem == reflect.TypeFor[bool]():
		return elements(list, func(v any) bool { return v.(bool) })
	case elem == reflect.TypeFor[time.Duration]():
		return elements(list, func(v any) int64 { return int64(v.(time.Duration)) })
	}
	return elements(list, func(v any) string {
		text, err := toText(v)
		if err != nil {
			return ""
		}
		return text
	})
}

func elements[T any](list reflect.Value, of func(any) T) []T {
	out := make([]T, list.Len())
	for i := range out {
		out[i] = of(list.Index(i).Interface())
	}
	return out
}

// toDriver returns v as a driver.Value; lists become JSON text.
func toDriver(v any) (driver.Value, error) {
	plain := Plain(v)
	if reflect.ValueOf(plain).Kind() == reflect.Slice {
		text, err := json.Marshal(plain)
		return string(text), err
	}
	return plain, nil
}

// toText renders v as assign reads it.
func toText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case JSON:
		return string(v), nil
	case time.Time:
		return Instant(v).Format(TimeLayout), nil
	case encoding.TextMarshaler:
		text, err := v.MarshalText()
		return string(text), err
	case time.Duration:
		return strconv.FormatInt(int64(v), 10), nil
	case int64, bool:
		return fmt.Sprint(v), nil
	}
	text, err := json.Marshal(v)
	return string(text), err
}

// assign stores a driver value into the variable that dest points to.
func assign(dest, src any) error {
	if s, ok := dest.(Scanner); ok {
		return s.Scan(src)
	}
	switch src := src.(type) {
	case nil:
		return fmt.Errorf("column is NULL, want %T", reflect.ValueOf(dest).Elem().Interface())
	case []byte:
		return assign(dest, string(src))
	}
	switch dest := dest.(type) {
	case *string:
		if s, ok := src.(string); ok {
			*dest = s
			return nil
		}
	case *int64:
		return assignInt(dest, src)
	case *time.Duration:
		return assignInt((*int64)(dest), src)
	case *bool:
		return assignBool(dest, src)
	case *time.Time:
		return assignTime(dest, src)
	default:
		if list := reflect.ValueOf(dest).Elem(); list.Kind() == reflect.Slice {
			return assignList(list, src)
		}
	}
	return fmt.Errorf("cannot scan %T into %T", src, dest)
}

func assignInt(dest *int64, src any) (err error) {
	switch src := src.(type) {
	case int64:
		*dest = src
		return nil
	case string:
		*dest, err = strconv.ParseInt(src, 10, 64)
		return err
	}
	return fmt.Errorf("cannot scan %T into an int", src)
}

func assignBool(dest *bool, src any) (err error) {
	switch src := src.(type) {
	case bool:
		*dest = src
		return nil
	case int64:
		if src != 0 && src != 1 {
			return fmt.Errorf("cannot scan %d into a bool", src)
		}
		*dest = src == 1
		return nil
	case string:
		*dest, err = strconv.ParseBool(src)
		return err
	}
	return fmt.Errorf("cannot scan %T into a bool", src)
}

func assignTime(dest *time.Time, src any) error {
	switch src := src.(type) {
	case time.Time:
		*dest = Instant(src)
		return nil
	case string:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999-07"} {
			if t, err := time.Parse(layout, src); err == nil {
				*dest = Instant(t)
				return nil
			}
		}
		return fmt.Errorf("cannot scan %q into a time", src)
	}
	return fmt.Errorf("cannot scan %T into a time", src)
}

// Text renders a value of a record as text, "" where it is absent.
func Text(v any) string {
	if o, ok := v.(interface{ plain() any }); ok {
		if v = o.plain(); v == nil {
			return ""
		}
	}
	text, err := toText(v)
	if err != nil {
		return ""
	}
	return text
}

// ParseID reads the text form of an id of a machine.
func ParseID[ID any](machine, text string) (id ID, err error) {
	if err := Into(&id).Scan(text); err != nil {
		return id, fmt.Errorf("%s: id: %w", machine, err)
	}
	return id, nil
}

// PlainOf is Plain of a value that may not be there.
func PlainOf[V any](v V, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return Plain(v), nil
}
