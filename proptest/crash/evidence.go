package crash

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/fsmgen/fsmgen/proptest/facts"
)

// evidence is what the database holds, and the leases of messages that it recorded.
type evidence struct {
	facts.Facts
	leases []leaseRow
}

// leaseRow says which worker leased which message, and whether the message was cancelled
// then.
type leaseRow struct {
	message, worker string
	cancelled       bool
}

// createTables creates the table of traces, and the one in which the database records
// leases. It has no key, so that a duplicate row can be seen.
func createTables(ctx context.Context, db *sql.DB, watch []string) error {
	for _, statement := range append([]string{
		facts.CreateTraces,
		`CREATE TABLE crash_leases (message_id text NOT NULL, worker text NOT NULL, cancelled boolean NOT NULL)`,
	}, watch...) {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// readEvidence reads all evidence.
func readEvidence(ctx context.Context, db *sql.DB, all machines) (*evidence, error) {
	f, err := facts.Read(ctx, db, all)
	if err != nil {
		return nil, fmt.Errorf("read the facts: %w", err)
	}
	e := &evidence{Facts: f}
	err = facts.Query(ctx, db, "SELECT message_id, worker, cancelled FROM crash_leases", func(r *facts.Row) {
		e.leases = append(e.leases, leaseRow{r.Text(), r.Text(), r.Bool()})
	})
	return e, err
}
