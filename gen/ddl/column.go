package ddl

import (
	"github.com/fsmgen/fsmgen/gen/ir"
)

// Column is one column of a table that a script creates.
type Column struct {
	Name string // SQL identifier, quoted where it must be
	// Field is the record field or table column it stores; nil for the state
	// and for the columns that every machine has.
	Field *ir.Field
	Type  ir.Type
	// Generated columns are computed by the database and can't be assigned.
	Generated bool

	doc        string
	defaultNow bool
}

// Columns returns the columns of the record table, in order: the id, the
// state, version, last_event, entered_at, the fields, created_at, updated_at.
func Columns(m *ir.Machine) []Column {
	cols := []Column{
		fieldColumn(m.ID),
		fixed(m.Storage.State, ir.String, false, "The state, how many steps led to it, the event of the last one, and when the state was entered."),
		fixed("version", ir.Int, false, ""),
		fixed("last_event", ir.String, false, ""),
		fixed("entered_at", ir.Time, false, ""),
	}
	for _, f := range m.Fields {
		cols = append(cols, fieldColumn(f))
	}
	return append(cols, timestamp("created_at"), timestamp("updated_at"))
}

// HistoryColumns returns the columns of the history table. The old state is
// null on creation; the payload is the event's fields and writes as JSON.
func HistoryColumns(m *ir.Machine) []Column {
	id := fieldColumn(m.ID)
	id.doc = ""
	actor := fixed("actor_id", ir.String, true, "null: the system")
	actor.Type = actorType(m)
	return []Column{
		fixed("event_id", ir.UUID, false, ""),
		id,
		fixed("version", ir.Int, false, ""),
		fixed("event_type", ir.String, false, ""),
		fixed("from_"+m.Storage.State, ir.String, true, "null: the record was created"),
		fixed("to_"+m.Storage.State, ir.String, false, ""),
		fixed("transition", ir.String, false, "the name of the row in the spec"),
		fixed("actor_role", ir.String, true, ""),
		actor,
		fixed("payload", ir.JSON, true, "what the event carried"),
		fixed("correlation_id", ir.String, true, ""),
		timestamp("created_at"),
	}
}

// TableColumns returns the columns of a table of the spec's `tables`.
func TableColumns(t *ir.Table) []Column {
	cols := make([]Column, len(t.Columns))
	for i, f := range t.Columns {
		cols[i] = fieldColumn(f)
	}
	return cols
}

// actorType is the type of the caller's id: the type of the fields that
// actors are compared with, string where there is none or they differ.
func actorType(m *ir.Machine) ir.Type {
	text := ir.Type{Base: ir.String, Optional: true}
	var found *ir.Type
	for _, a := range m.Actors {
		if a.Is == nil {
			continue
		}
		if found != nil && found.Base != a.Is.Type.Base {
			return text
		}
		found = &a.Is.Type
	}
	if found == nil {
		return text
	}
	return ir.Type{Base: found.Base, Enum: found.Enum, Optional: true}
}

func fieldColumn(f *ir.Field) Column {
	return Column{
		Name: ident(f.Text), Field: f, Type: f.Type,
		Generated: f.Derive != nil, doc: f.Doc,
	}
}

func fixed(name string, base ir.Base, optional bool, doc string) Column {
	t := ir.Type{Base: base, Optional: optional}
	return Column{Name: ident(name), Type: t, doc: doc}
}

func timestamp(name string) Column {
	c := fixed(name, ir.Time, false, "")
	c.defaultNow = true
	return c
}

// stateColumn, recordTable and historyTable are the identifiers that rules and
// messages need again and again.
func stateColumn(m *ir.Machine) string { return ident(m.Storage.State) }

func recordTable(m *ir.Machine) string { return ident(m.Storage.Table) }

func historyTable(m *ir.Machine) string { return ident(m.Storage.History) }

func tableName(t *ir.Table) string { return ident(t.Text) }
