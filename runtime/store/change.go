package store

import (
	"reflect"
	"slices"
	"time"
)

// Changed lists the places, in Record.Columns, of what the step changed. values
// are those of the record after it. The id, which never changes, is not among
// them. Without Before everything else is.
func (s StepWrite) Changed(values []any) []int {
	changed := make([]int, 0, len(values))
	var before []any
	if s.Before != nil {
		before = s.Before.Values()
	}
	for i := 1; i < len(values); i++ {
		if before == nil || !same(before[i], values[i]) {
			changed = append(changed, i)
		}
	}
	return changed
}

// same reports whether two values of a column are equal.
func same(a, b any) bool {
	switch a := a.(type) {
	case nil, string, int64, bool:
		return a == b
	case time.Time:
		b, ok := b.(time.Time)
		return ok && a.Equal(b)
	case []string:
		b, ok := b.([]string)
		return ok && slices.Equal(a, b)
	}
	return reflect.DeepEqual(a, b)
}
