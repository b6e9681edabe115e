package ir

import (
	"regexp"
	"strings"

	"github.com/fsmgen/fsmgen/gen/diag"
)

// Base is the kind of a type.
type Base string

// The base types.
const (
	String   Base = "string"
	Int      Base = "int"
	Bool     Base = "bool"
	Time     Base = "time"
	Duration Base = "duration"
	UUID     Base = "uuid"
	JSON     Base = "json"
	ListOf   Base = "list"
	EnumOf   Base = "enum"
)

// Type is the type of a field, param or value.
type Type struct {
	Base     Base
	Optional bool
	Elem     *Type // of ListOf
	Enum     *Enum // of EnumOf
	Unit     string
}

// String renders t as the spec writes it, without the unit.
func (t Type) String() string {
	s := string(t.Base)
	switch t.Base {
	case ListOf:
		s = "list<" + t.Elem.String() + ">"
	case EnumOf:
		s = t.Enum.Text
	case String, Int, Bool, Time, Duration, UUID, JSON:
	}
	if t.Optional {
		return "optional " + s
	}
	return s
}

// Value is a value of the language. Its dynamic type follows the Type:
// string, uuid (canonical lower case) and enum: string; int: int64; bool:
// bool; time: time.Time (UTC, microseconds); duration: time.Duration; json:
// string (compact JSON text); list: []any; absent: nil.
type Value = any

// Enum is a named list of values. Machine is its owner.
type Enum struct {
	Name
	Values []Name
}

// Param is a configurable value with a default.
type Param struct {
	Name
	Type    Type
	Default Value
}

// Field is a field of a record or of an event, or a column of a table.
type Field struct {
	Name
	Type       Type
	HasDefault bool
	Default    Value
	// Immutable: write-once, absent to a value once.
	Immutable bool
	// Min and Max bound the value of an int and the length of a string, in
	// characters.
	Min, Max *int64
	// Derive: computed from write-once fields by the database and by Go;
	// never assigned.
	Derive *Template
	// Ref and Where, on columns only: a foreign key that also demands
	// column values of the row it refers to.
	Ref   *Table
	Where []ColumnValue
	// Cascade: deleting the referred row deletes this one; else that delete
	// is refused.
	Cascade bool
	// Index is the place in Machine.Fields of a record field, -1 else (the
	// record's id, event fields, columns).
	Index int
}

// ColumnValue demands or sets a column.
type ColumnValue struct {
	Column *Field
	Value  Expr
	Span   diag.Span
}

// Table is an SQL table besides the machine's own. Steps write it in their
// transaction.
type Table struct {
	Name
	Machine *Machine // the owner
	Key     []*Field
	Columns []*Field
}

// Template is text with {name} holes, each a field of the record or event.
type Template struct {
	Parts []TemplatePart
	Span  diag.Span
}

// TemplatePart is literal text, or a field when Field is set.
type TemplatePart struct {
	Text  string
	Field *Field
}

// String renders t as the spec writes it.
func (t *Template) String() string {
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Field != nil {
			b.WriteString("{" + p.Field.Text + "}")
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// Special is a name that the machine itself provides.
type Special string

// The specials. Error is known in `fails` only.
const (
	Now       Special = "now"
	ActorID   Special = "actor"
	StateName Special = "state"
	FromName  Special = "from"
	ErrorText Special = "error"
)

// Operand is what a clause or an expression reads. Exactly one of Field,
// Param, Special and IsLit is set.
type Operand struct {
	// Field is a record field or, with Event set, a field of that event. A
	// record field that the event writes reads the incoming value.
	Field   *Field
	Event   *Event
	Param   *Param
	Special Special
	Literal Value
	IsLit   bool
	Type    Type
	Text    string // as written, without $
	Span    diag.Span
}

// Op is a guard operator. The words equals and not_equals are lowered to ==
// and !=.
type Op string

// The operators of document 001, Valid Operators.
const (
	Eq        Op = "=="
	Ne        Op = "!="
	Lt        Op = "<"
	Le        Op = "<="
	Gt        Op = ">"
	Ge        Op = ">="
	Exists    Op = "exists"
	NotExists Op = "not_exists"
	In        Op = "in"
	NotIn     Op = "not_in"
	Contains  Op = "contains"
	Matches   Op = "matches"
)

// Clause is one guard expression: left op right. An absent operand makes it
// false for every operator but Exists and NotExists.
//
// Right is a literal bool for Exists and NotExists, a literal list for In and
// NotIn, a literal string (a Go regular expression) for Matches.
type Clause struct {
	Left  Operand
	Op    Op
	Right Operand
	Text  string // as written, blanks folded
	Span  diag.Span
	// Pattern is the right side of a Matches, compiled.
	Pattern *regexp.Regexp
}

// ExprKind tells how an expression is built.
type ExprKind uint8

// The kinds of an expression.
const (
	Read ExprKind = iota + 1 // A
	Null                     // absent
	Add                      // A + B
	Sub                      // A - B
)

// Expr is a right side: a literal, null, $name, $a + b or $a - b.
type Expr struct {
	Kind ExprKind
	A, B Operand
	Type Type
	Text string // as written
	Span diag.Span
}
