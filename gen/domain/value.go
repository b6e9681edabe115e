package domain

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// Equal reports whether two values are the same: times as instants, lists
// element by element, everything else by its bytes. Absent equals absent.
func Equal(a, b ir.Value) bool {
	switch a := a.(type) {
	case time.Time:
		b, ok := b.(time.Time)
		return ok && a.Equal(b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	}
	if _, isList := b.([]any); isList {
		return false
	}
	return a == b
}

// Compare orders two values of one type: absent first, false before true,
// strings by bytes, times by instant, lists by their elements. Values of
// different types are ordered by type, so that Compare is a total order.
func Compare(a, b ir.Value) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch a := a.(type) {
	case bool:
		return cmp.Compare(boolRank(a), boolRank(b.(bool)))
	case int64:
		return cmp.Compare(a, b.(int64))
	case time.Duration:
		return cmp.Compare(a, b.(time.Duration))
	case string:
		return strings.Compare(a, b.(string))
	case time.Time:
		return a.Compare(b.(time.Time))
	case []any:
		return slices.CompareFunc(a, b.([]any), Compare)
	}
	return 0
}

// rank orders the dynamic types of values.
func rank(v ir.Value) int {
	switch v.(type) {
	case nil:
		return 0
	case bool:
		return 1
	case int64:
		return 2
	case time.Duration:
		return 3
	case string:
		return 4
	case time.Time:
		return 5
	case []any:
		return 6
	}
	return 7
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}
