package fsm

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
)

// Optional is a value that may be absent. The zero value is absent. V is the
// zero value of T whenever IsSet is false, so two optionals of a comparable T
// are equal exactly when == says so.
type Optional[T any] struct {
	V     T
	IsSet bool
}

// Some returns a present v.
func Some[T any](v T) Optional[T] { return Optional[T]{V: v, IsSet: true} }

// None returns an absent value.
func None[T any]() Optional[T] { return Optional[T]{} }

// Get returns the value and whether it is present.
func (o Optional[T]) Get() (T, bool) { return o.V, o.IsSet }

// Or returns the value, or fallback when it is absent.
func (o Optional[T]) Or(fallback T) T {
	if o.IsSet {
		return o.V
	}
	return fallback
}

// Differs reports whether o has a value, and another than v.
func Differs[T comparable](o Optional[T], v T) bool { return o.IsSet && o.V != v }

// IsZero reports whether o is absent; `omitzero` asks it.
func (o Optional[T]) IsZero() bool { return !o.IsSet }

// String returns the value as fmt.Sprint does, or "absent".
func (o Optional[T]) String() string {
	if !o.IsSet {
		return "absent"
	}
	return fmt.Sprint(o.V)
}

// MarshalJSON encodes an absent value as null.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if !o.IsSet {
		return []byte("null"), nil
	}
	return json.Marshal(o.V)
}

// UnmarshalJSON decodes null as absent.
func (o *Optional[T]) UnmarshalJSON(data []byte) error {
	var v T
	if bytes.Equal(data, []byte("null")) {
		*o = Optional[T]{}
		return nil
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*o = Some(v)
	return nil
}

// MarshalText encodes an absent value as the empty text.
func (o Optional[T]) MarshalText() ([]byte, error) {
	if !o.IsSet {
		return nil, nil
	}
	text, err := toText(o.V)
	return []byte(text), err
}

// UnmarshalText decodes the empty text as absent.
func (o *Optional[T]) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*o = Optional[T]{}
		return nil
	}
	return o.Scan(string(text))
}

// Value implements driver.Valuer: absent is NULL.
func (o Optional[T]) Value() (driver.Value, error) {
	if !o.IsSet {
		return nil, nil
	}
	return toDriver(o.V)
}

// Scan implements sql.Scanner: NULL is absent.
func (o *Optional[T]) Scan(src any) error {
	var v T
	if src == nil {
		*o = Optional[T]{}
		return nil
	}
	if err := assign(&v, src); err != nil {
		return err
	}
	*o = Some(v)
	return nil
}

// plain returns the value for [Plain].
func (o Optional[T]) plain() any {
	if !o.IsSet {
		return nil
	}
	return Plain(o.V)
}
