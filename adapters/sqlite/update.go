package sqlite

import (
	"strings"
	"sync"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// mostUpdates is how many UPDATE statements a record table has at most. A connection keeps each
// prepared. A machine has about as many sets of columns that change together as transitions, but
// events with optional fields could change any subset.
const mostUpdates = 24

// updates are the UPDATE statements of a record table, one for each set of columns that change.
type updates struct {
	head, tail string // around the columns
	columns    []string
	mu         sync.Mutex
	known      map[string]string
}

func newUpdates(t fsm.Tables) *updates {
	return &updates{
		head: "UPDATE " + quoted(t.Record) + " SET ",
		tail: "version = ?, last_event = ?, entered_at = coalesce(?, entered_at), updated_at = ? WHERE " +
			quoted(t.ID) + " = ? AND " + quoted(t.State) + " = ? AND version = ?",
		columns: t.Columns, known: map[string]string{},
	}
}

// of returns a statement that writes the columns with these indices, and the indices that it writes.
// Its parameters are those columns, then version, last_event, entered_at or null, updated_at, and
// the id, the state and the version before. If there are mostUpdates statements already, it returns
// the one that writes every column but the id.
func (u *updates) of(changed []int) (query string, written []int) {
	var name strings.Builder
	for _, i := range changed {
		name.WriteRune(rune(i))
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if query, ok := u.known[name.String()]; ok {
		return query, changed
	}
	if len(u.known) < mostUpdates {
		u.known[name.String()] = u.text(changed)
		return u.known[name.String()], changed
	}
	every := make([]int, 0, len(u.columns))
	for i := 1; i < len(u.columns); i++ {
		every = append(every, i)
	}
	return u.text(every), every
}

func (u *updates) text(columns []int) string {
	var b strings.Builder
	b.WriteString(u.head)
	for _, i := range columns {
		b.WriteString(quoted(u.columns[i]) + " = ?, ")
	}
	b.WriteString(u.tail)
	return b.String()
}
