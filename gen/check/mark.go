package check

import (
	"slices"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// mark is the set of values that a field can have: bit 0 is absent; of a
// field with few values (bool, enum, int within narrow bounds) each value has
// a bit; of any other, all present values are one.
type mark uint64

const (
	maybeAbsent  mark = 1
	maybePresent      = ^maybeAbsent
	anything          = maybeAbsent | maybePresent
)

// maxFew bounds the values that have bits of their own.
const maxFew = 62

// fewValues lists the values of f where they are few, else it is nil. The bit
// of the n-th value is n + 1.
func fewValues(f *ir.Field) []ir.Value {
	switch f.Type.Base {
	case ir.Bool:
		return []ir.Value{false, true}
	case ir.EnumOf:
		if len(f.Type.Enum.Values) > maxFew {
			return nil
		}
		var out []ir.Value
		for _, v := range f.Type.Enum.Values {
			out = append(out, v.Text)
		}
		return out
	case ir.Int:
		return fewInts(f.Min, f.Max)
	case ir.String, ir.Time, ir.Duration, ir.UUID, ir.JSON, ir.ListOf: // have many
		return nil
	}
	panic(ir.NoForm("check.fewValues", f.Type.Base))
}

// fewInts lists the ints from lowest to highest where they are few.
func fewInts(lowest, highest *int64) []ir.Value {
	if lowest == nil || highest == nil || *highest < *lowest {
		return nil
	}
	width := uint64(*highest) - uint64(*lowest) // the difference of two int64 fits
	if width >= maxFew {
		return nil
	}
	var out []ir.Value
	for n := range int64(width) + 1 {
		out = append(out, *lowest+n)
	}
	return out
}

// valueMark is the set of one value of f.
func valueMark(f *ir.Field, v ir.Value) mark {
	if v == nil {
		return maybeAbsent
	}
	few := fewValues(f)
	if few == nil {
		return maybePresent
	}
	if i := slices.IndexFunc(few, func(x ir.Value) bool { return domain.Equal(x, v) }); i >= 0 {
		return 1 << (i + 1)
	}
	return 0
}
