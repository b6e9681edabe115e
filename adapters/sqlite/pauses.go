package sqlite

import (
	"context"
	"database/sql"

	"github.com/fsmgen/fsmgen/runtime/store"
)

const (
	setPause = `INSERT INTO fsm_pauses (machine, effect, destination, who, why, paused_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (machine, effect, destination) DO UPDATE SET who = excluded.who, why = excluded.why, paused_at = excluded.paused_at`
	endPause     = "DELETE FROM fsm_pauses WHERE machine = ? AND effect = ? AND destination = ?"
	selectPauses = "SELECT machine, effect, destination, who, why, paused_at FROM fsm_pauses ORDER BY machine, effect, destination"
)

// Pause implements store.Store.
func (s *Store) Pause(ctx context.Context, tx *sql.Tx, p store.Pause) error {
	s.work.Store(true)
	_, err := tx.ExecContext(ctx, setPause, p.Machine, p.Effect, p.Destination, p.Who, p.Why, instant(p.At))
	return wrap("pause "+p.String(), cause(ctx, err))
}

// Unpause implements store.Store.
func (s *Store) Unpause(ctx context.Context, tx *sql.Tx, scope store.Scope) (bool, error) {
	s.work.Store(true)
	result, err := tx.ExecContext(ctx, endPause, scope.Machine, scope.Effect, scope.Destination)
	if err != nil {
		return false, wrap("unpause "+scope.String(), cause(ctx, err))
	}
	n, err := result.RowsAffected()
	return n > 0, wrap("unpause "+scope.String(), err)
}

func readPause(c *cells) (p store.Pause) {
	p.Machine, p.Effect, p.Destination, p.Who, p.Why, p.At = c.text(), c.text(), c.text(), c.text(), c.text(), c.time()
	return p
}
