package fsm

import (
	"database/sql/driver"
	"fmt"
	"slices"
)

// Words are the words of a small integer type, in the order of its values, which count from 1. They are
// never written.
type Words[T ~uint8 | ~uint16] struct {
	Machine string
	Type    string // in Go: AbortReason
	Noun    string // in the spec: abort_reason
	Not     string // what another word is: is not an abort_reason
	List    []string
}

// Valid reports whether v has a word.
func (w *Words[T]) Valid(v T) bool { return 0 < v && int(v) <= len(w.List) }

// String returns the word of v.
func (w *Words[T]) String(v T) string {
	if !w.Valid(v) {
		return fmt.Sprintf("%s(%d)", w.Type, uint16(v))
	}
	return w.List[v-1]
}

// Parse returns the value whose word is name. The error for a state is a *StateError.
func (w *Words[T]) Parse(name string) (T, error) {
	if i := slices.Index(w.List, name); i >= 0 {
		return T(i + 1), nil
	}
	if w.Noun == "state" {
		return 0, &StateError{Machine: w.Machine, State: name}
	}
	return 0, fmt.Errorf("%s: %q %s", w.Machine, name, w.Not)
}

// Values lists the values that have a word.
func (w *Words[T]) Values() []T {
	values := make([]T, len(w.List))
	for i := range values {
		values[i] = T(i + 1)
	}
	return values
}

// MarshalText returns the word of v as text.
func (w *Words[T]) MarshalText(v T) ([]byte, error) {
	if !w.Valid(v) {
		return nil, w.invalid(v)
	}
	return []byte(w.List[v-1]), nil
}

// UnmarshalText sets v to the value whose word is text.
func (w *Words[T]) UnmarshalText(text []byte, v *T) (err error) {
	*v, err = w.Parse(string(text))
	return err
}

// Value returns the word of v as a driver stores it.
func (w *Words[T]) Value(v T) (driver.Value, error) {
	if !w.Valid(v) {
		return nil, w.invalid(v)
	}
	return w.List[v-1], nil
}

// Scan sets v to the value whose word a driver read.
func (w *Words[T]) Scan(src any, v *T) error {
	switch src := src.(type) {
	case string:
		return w.UnmarshalText([]byte(src), v)
	case []byte:
		return w.UnmarshalText(src, v)
	}
	return fmt.Errorf("%s: cannot scan %T as %s", w.Machine, src, w.Noun)
}

func (w *Words[T]) invalid(v T) error {
	return fmt.Errorf("%s: %d %s", w.Machine, uint16(v), w.Not)
}
