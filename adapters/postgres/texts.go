package postgres

import (
	"strings"
	"sync"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// form tells the statements about a record apart.
type form int

const (
	insertion  form = iota // a record begins
	move                   // the step enters a state
	stay                   // the step is internal
	insertions             // insertion, of several records
	moves                  // move, of several records
	stays                  // stay, of several records
	expect                 // no step: the record must be at a version
	one                    // a record is read
	all                    // several records are read
)

// stepShape is what the statement of a step depends on besides the machine.
type stepShape struct {
	form     form
	columns  []int // places of those that it writes
	messages int   // how many effects go along with it
	held     bool  // a worker has these in hand already
}

// mostShapes bounds how many statements for steps a table gets, and so how many
// the server keeps prepared for it. A machine has about as many as rows, but
// events with optional fields could change any subset of the columns.
const mostShapes = 64

// texts remembers the statements of each record table: building one takes about
// as long as sending it.
type texts struct {
	known sync.Map // of textKey to string
	types sync.Map // of the name of a table to the types of its columns by their names

	mu     sync.Mutex
	shapes map[string]int // how many statements for steps known has, by record table
}

// textKey names a statement. columns are those that it writes, a rune each.
type textKey struct {
	table    string
	form     form
	columns  string
	messages int
	held     bool
}

// of returns a statement that is no step.
func (x *texts) of(t fsm.Tables, f form) string {
	key := textKey{table: t.Record, form: f}
	if sql, ok := x.known.Load(key); ok {
		return sql.(string)
	}
	var sql string
	switch f {
	case expect:
		sql = expectText(t)
	case one:
		sql = selectRecords(t) + " WHERE " + quoted(t.ID) + " = $1"
	case all:
		sql = selectRecords(t) + " WHERE " + quoted(t.ID) + " = ANY($1)"
	}
	x.known.Store(key, sql)
	return sql
}

// step returns the statement of a step, and the columns that it writes: those of
// w, or every one where the table has statements enough.
func (x *texts) step(t fsm.Tables, w stepShape) (sql string, written []int) {
	key := textKey{t.Record, w.form, runes(w.columns), w.messages, w.held}
	if sql, ok := x.known.Load(key); ok {
		return sql.(string), w.columns
	}
	if len(w.columns) < len(t.Columns)-1 && !x.room(t.Record) {
		w.columns = everyColumn(t)
		return x.step(t, w)
	}
	switch w.form {
	case insertion:
		sql = insertionText(t, w)
	case insertions:
		sql = insertionsText(t, x.stepTypes(t, w.columns))
	case moves, stays:
		sql = changesText(t, x.stepTypes(t, w.columns), w)
	default:
		sql = changeText(t, w)
	}
	x.known.Store(key, sql)
	return sql, w.columns
}

// room takes one of the statements that a table may have.
func (x *texts) room(table string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.shapes == nil {
		x.shapes = map[string]int{}
	}
	if x.shapes[table] == mostShapes {
		return false
	}
	x.shapes[table]++
	return true
}

// runes names a set of columns.
func runes(columns []int) string {
	var b strings.Builder
	for _, i := range columns {
		b.WriteRune(rune(i))
	}
	return b.String()
}

// everyColumn is the set of all columns but the id.
func everyColumn(t fsm.Tables) []int {
	every := make([]int, 0, len(t.Columns))
	for i := 1; i < len(t.Columns); i++ {
		every = append(every, i)
	}
	return every
}
