package check

import (
	"fmt"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

const (
	codeSQLCollision = "FSM012"
	codeSQLReserved  = "FSM014"
	codeSQLName      = "FSM086"
)

// maxSQLName is how many bytes of a name PostgreSQL keeps.
const maxSQLName = 63

// sqlNames reports names that the databases could not hold apart, or not at
// all without quotes.
func (s *subject) sqlNames() {
	st := s.m.Storage
	at := func(name string) ir.Name { return ir.Name{Text: name, Span: st.Span} }
	s.storageName("table", at(st.Table))
	s.storageName("table", at(st.History))
	s.storageName("the state column", at(st.State))
	record := s.namespace(codeSQLCollision, fmt.Sprintf("in table %s", st.Table),
		[]string{"version", "last_event", "entered_at", "created_at", "updated_at"})
	record.add(naming.Column(st.State), "the state column", at(st.State))
	history := s.namespace(codeSQLCollision, fmt.Sprintf("in table %s", st.History), historyColumns(st.State))
	for _, n := range []*namespace{record, history} {
		n.add(naming.Column(s.m.ID.Text), "the id", s.m.ID.Name)
	}
	s.sqlName("the id", s.m.ID.Name)
	for _, state := range s.m.States {
		s.sqlWord("state", state.Name)
	}
	for _, f := range s.m.Fields {
		s.sqlName("field", f.Name)
		record.add(naming.Column(f.Text), "field", f.Name)
	}
	for _, t := range s.m.Tables {
		s.sqlName("table", t.Name)
		columns := s.namespace(codeSQLCollision, fmt.Sprintf("in table %s", t.Text), nil)
		for _, c := range t.Columns {
			s.sqlName("column", c.Name)
			columns.add(naming.Column(c.Text), "column", c.Name)
		}
	}
	uniques := s.namespace(codeSQLCollision, "among the constraints", nil)
	for _, q := range s.m.Uniques {
		uniques.add(naming.Column(q.Text), "unique", q.Name)
	}
}

func historyColumns(state string) []string {
	return []string{"event_id", "version", "event_type", "from_" + naming.Column(state), "to_" + naming.Column(state),
		"transition", "actor_role", "actor_id", "payload", "correlation_id", "created_at"}
}

func (s *subject) sqlWord(kind string, n ir.Name) {
	if naming.IsSQLReserved(naming.Column(n.Text)) {
		s.report(codeSQLReserved, n.Span, fmt.Sprintf("give it another name, such as %q", n.Text+"_value"),
			"%s %q is a reserved word of SQL", kind, n.Text)
	}
}

// sqlName demands that n can name a table or a column. The SQL, the Go and the
// people who write queries spell it alike, so it is not shortened.
func (s *subject) sqlName(kind string, n ir.Name) {
	s.sqlWord(kind, n)
	if size := len(naming.Column(n.Text)); size > maxSQLName {
		s.report(codeSQLName, n.Span, "choose a shorter name", "%s %q has %d bytes, of which PostgreSQL keeps %d", kind, n.Text, size, maxSQLName)
	}
}

// storageName is sqlName for what `sql` names: it is used as it is written.
func (s *subject) storageName(kind string, n ir.Name) {
	s.sqlName(kind, n)
	if column := naming.Column(n.Text); column != n.Text {
		s.report(codeSQLName, n.Span, fmt.Sprintf("write %q", column), "%s %q is no name that SQL keeps without quotes", kind, n.Text)
	}
}

// checkTogether applies the rules that span machines: they share one database
// schema.
func checkTogether(machines []*ir.Machine, r reporter) {
	tables := r.namespace(codeSQLCollision, "in the database", nil)
	for _, m := range machines {
		tables.add(naming.Column(m.Storage.Table), "record table", ir.Name{Text: m.Storage.Table, Span: m.Storage.Span})
		tables.add(naming.Column(m.Storage.History), "history table", ir.Name{Text: m.Storage.History, Span: m.Storage.Span})
		for _, t := range m.Tables {
			tables.add(naming.Column(t.Text), "table", t.Name)
		}
	}
	startCycles(machines, r)
}
