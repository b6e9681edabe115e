package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/store"
)

const (
	pause = `INSERT INTO fsm_pauses (machine, effect, destination, who, why, paused_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (machine, effect, destination) DO UPDATE SET who = excluded.who, why = excluded.why, paused_at = excluded.paused_at`
	unpause = "DELETE FROM fsm_pauses WHERE machine = $1 AND effect = $2 AND destination = $3"
)

// Pause implements store.Store. The commit notifies other processes.
func (s *Store) Pause(ctx context.Context, tx pgx.Tx, p store.Pause) error {
	_, err := tx.Exec(ctx, pause, p.Machine, p.Effect, p.Destination, p.Who, p.Why, p.At)
	announce(tx)
	return wrap("pause", err)
}

// Unpause implements store.Store. The commit notifies other processes.
func (s *Store) Unpause(ctx context.Context, tx pgx.Tx, scope store.Scope) (bool, error) {
	tag, err := tx.Exec(ctx, unpause, scope.Machine, scope.Effect, scope.Destination)
	announce(tx)
	return tag.RowsAffected() > 0, wrap("unpause", err)
}

// announce makes the commit of a transaction of InTx wake the workers that wait.
func announce(tx pgx.Tx) {
	if own, ok := tx.(*transaction); ok {
		own.work = true
	}
}

func readPauses() (s statement) {
	s.write("SELECT machine, effect, destination, who, why, paused_at FROM fsm_pauses ORDER BY machine, effect, destination")
	return s
}

func scanPause(rows pgx.Rows) (p store.Pause, err error) {
	err = scan(rows, &p.Machine, &p.Effect, &p.Destination, &p.Who, &p.Why, instant(&p.At))
	return p, err
}
