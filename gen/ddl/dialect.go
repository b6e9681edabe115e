package ddl

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// dialect is one of the two SQL languages.
type dialect uint8

const (
	postgres dialect = iota + 1
	sqlite
)

// String names d.
func (d dialect) String() string {
	switch d {
	case postgres:
		return "PostgreSQL"
	case sqlite:
		return "SQLite"
	}
	return fmt.Sprintf("number %d", uint8(d))
}

// traits are the differences of the dialects that are a word or a yes. What differs
// by more is a switch over both.
type traits struct {
	checkedRow string // prefix of the columns where a record is judged: a CHECK has none
	now        string // the present, as a default
	timePrefix string // of the literal of a time
	sumCast    string // of the first part of a sum
	// rowLock keeps a row that was read as it is until the transaction ends. SQLite
	// has one writer.
	rowLock    string
	arrays     bool // lists of scalars have a type; else they are JSON text
	jsonb      bool // JSON has one spelling
	casts      bool // a literal that is not text says its type after ::
	edgeLists  bool // one rule looks for the edge in a list; else each state has its rule
	partitions bool // a table can be partitioned
}

func (d dialect) traits() traits {
	switch d {
	case postgres:
		return traits{
			checkedRow: "r.", now: "now()", timePrefix: "timestamptz ", sumCast: "::numeric", rowLock: " FOR SHARE",
			arrays: true, jsonb: true, casts: true, edgeLists: true, partitions: true,
		}
	case sqlite:
		return traits{now: "(strftime('%Y-%m-%dT%H:%M:%f000Z', 'now'))"}
	}
	panic(ir.NoForm("ddl.traits", d))
}

// respells reports whether an engine may write a value of t that it read with other
// blanks.
func (d dialect) respells(t ir.Type) bool {
	switch t.Base {
	case ir.JSON, ir.ListOf:
		return !d.traits().jsonb
	case ir.String, ir.Int, ir.Bool, ir.Time, ir.Duration, ir.UUID, ir.EnumOf:
		return false
	}
	panic(ir.NoForm("ddl.respells", t.Base))
}

// maxIdentifier is the longest identifier that PostgreSQL does not truncate.
const maxIdentifier = 63

// ident is the SQL identifier of a spec name, quoted only where it must be.
func ident(name string) string {
	col := shorten(naming.Column(name))
	if naming.IsSQLReserved(col) {
		return `"` + col + `"`
	}
	return col
}

// ruleName names a constraint, trigger or function after what it is about.
func ruleName(parts ...string) string {
	for i, p := range parts {
		parts[i] = naming.Column(p)
	}
	return shorten(strings.Join(parts, "_"))
}

// shorten keeps identifiers apart that PostgreSQL would truncate to the same.
func shorten(name string) string {
	if len(name) <= maxIdentifier {
		return name
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return fmt.Sprintf("%s_%08x", name[:maxIdentifier-9], h.Sum32())
}

// quote is a string literal.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// derivation is the text of a template; null while a part is null. A part that
// is derived itself is replaced by its own template, for a generated column
// can't read another. Only types whose text both databases and Go agree on may
// be parts: string, enum, uuid, int and bool.
func derivation(d dialect, row string, t *ir.Template) string {
	parts := make([]string, len(t.Parts))
	for i, p := range t.Parts {
		switch {
		case p.Field == nil:
			parts[i] = quote(p.Text)
		case p.Field.Derive != nil:
			parts[i] = derivation(d, row, p.Field.Derive)
		default:
			parts[i] = asText(row+ident(p.Field.Text), p.Field.Type)
		}
	}
	return strings.Join(parts, " || ")
}

func asText(col string, t ir.Type) string {
	switch t.Base {
	case ir.String, ir.EnumOf:
		return col
	case ir.Bool:
		return "CASE " + col + " WHEN true THEN 'true' WHEN false THEN 'false' END"
	case ir.Int, ir.UUID:
		return "CAST(" + col + " AS text)"
	case ir.Time, ir.Duration, ir.JSON, ir.ListOf: // have no text that all agree on
	}
	panic(ir.NoForm("ddl.asText", t.Base))
}

// quoteAll is a list of string literals, for IN.
func quoteAll[T ~string](words []T) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(string(w))
	}
	return strings.Join(quoted, ", ")
}

func enumWords(e *ir.Enum) []string {
	words := make([]string, len(e.Values))
	for i, v := range e.Values {
		words[i] = v.Text
	}
	return words
}

// columnType is the SQL type of t.
func (d dialect) columnType(t ir.Type) string {
	switch d {
	case postgres:
		return postgresType(t)
	case sqlite:
		return sqliteType(t)
	}
	panic(ir.NoForm("ddl.columnType", d))
}

func postgresType(t ir.Type) string {
	switch t.Base {
	case ir.Int, ir.Duration:
		return "bigint"
	case ir.Bool:
		return "boolean"
	case ir.Time:
		return "timestamptz"
	case ir.UUID:
		return "uuid"
	case ir.JSON:
		return "jsonb"
	case ir.ListOf:
		if isNested(t) {
			return "jsonb"
		}
		return postgresType(*t.Elem) + "[]"
	case ir.String, ir.EnumOf:
		return "text"
	}
	panic(ir.NoForm("ddl.postgresType", t.Base))
}

func sqliteType(t ir.Type) string {
	switch t.Base {
	case ir.Int, ir.Bool, ir.Duration:
		return "integer"
	case ir.String, ir.Time, ir.UUID, ir.JSON, ir.ListOf, ir.EnumOf:
		return "text"
	}
	panic(ir.NoForm("ddl.sqliteType", t.Base))
}

// isNested reports whether t is a list of lists. PostgreSQL arrays of arrays
// must be rectangular, so these are stored as jsonb.
func isNested(t ir.Type) bool { return t.Base == ir.ListOf && t.Elem.Base == ir.ListOf }
