package golang

import (
	"fmt"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// What generated code says of a value. The name of the field stands before each text.

// invalidity says that a value is none of a type, though Go has it.
func invalidity(t ir.Type) string {
	switch t.Base {
	case ir.Time:
		return "is not in the years 1 to 9999"
	case ir.EnumOf:
		return isNot(t.Enum.Text)
	case ir.JSON:
		return "is required"
	case ir.ListOf:
		return "has an invalid element"
	case ir.String, ir.Int, ir.Bool, ir.Duration, ir.UUID: // their Go type excludes what is invalid
	}
	panic(ir.NoForm("golang.invalidity", t.Base))
}

// isNot says that a value is not one of an enum: is not an abort_reason.
func isNot(noun string) string { return "is not " + naming.Article(noun) + " " + noun }

// bounds says that a value lies outside the bounds of a field.
func bounds(f *ir.Field) string {
	if f.Type.Base.ByLength() {
		return lengths(f.Min, f.Max)
	}
	switch {
	case f.Max == nil:
		return fmt.Sprintf("is less than %d", *f.Min)
	case f.Min == nil:
		return fmt.Sprintf("is more than %d", *f.Max)
	case *f.Min == *f.Max:
		return fmt.Sprintf("is not %d", *f.Min)
	}
	return fmt.Sprintf("is not from %d to %d", *f.Min, *f.Max)
}

// lengths says that a text is shorter than least or longer than most, one of which may be nil.
func lengths(least, most *int64) string {
	switch {
	case most == nil && *least == 1:
		return "is empty"
	case most == nil:
		return "has fewer than " + characters(*least)
	case least == nil:
		return "has more than " + characters(*most)
	case *least == *most:
		return "does not have " + characters(*least)
	}
	return fmt.Sprintf("does not have %d to %s", *least, characters(*most))
}

func characters(n int64) string {
	if n == 1 {
		return "1 character"
	}
	return fmt.Sprintf("%d characters", n)
}
