package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// finding is the result of a check.
type finding struct {
	text     string
	problems int
}

// checks lists what must hold at the end, each read from the database alone.
func checks(a *app, r *demoRun) []func(context.Context) (finding, error) {
	return []func(context.Context) (finding, error){
		a.gapless, a.atTheEnd, a.ledger, a.onceEach, a.settled,
		func(ctx context.Context) (finding, error) { return a.recovered(ctx, r.cut) },
	}
}

// sum adds up a number that a query gives for each machine.
func (a *app) sum(ctx context.Context, query func(fsm.Tables) string) (n int, err error) {
	for _, m := range a.machines {
		found, err := a.number(ctx, query(m.Tables()))
		if err != nil {
			return 0, err
		}
		n += found
	}
	return n, nil
}

// gapless: versions are 1 to n, and each step begins where the one before ended.
func (a *app) gapless(ctx context.Context) (finding, error) {
	broken, err := a.sum(ctx, func(t fsm.Tables) string {
		return fmt.Sprintf(`SELECT count(*) FROM (
			SELECT version, "%[1]s" AS began, lag(version, 1, 0) OVER w AS before, lag("%[2]s") OVER w AS ended
			FROM "%[3]s" WINDOW w AS (PARTITION BY "%[4]s" ORDER BY version)
		) WHERE version <> before + 1 OR began IS NOT ended`, t.From, t.To, t.History, t.ID)
	})
	if err != nil {
		return finding{}, err
	}
	rows, err := a.sum(ctx, func(t fsm.Tables) string { return fmt.Sprintf(`SELECT count(*) FROM "%s"`, t.History) })
	return finding{fmt.Sprintf("history is gapless: %d steps, each from where the one before led", rows), broken}, err
}

// atTheEnd: a record is where its history ends.
func (a *app) atTheEnd(ctx context.Context) (finding, error) {
	astray, err := a.sum(ctx, func(t fsm.Tables) string {
		return fmt.Sprintf(`SELECT count(*) FROM "%[1]s" r WHERE NOT EXISTS (SELECT 1 FROM "%[2]s" h
			WHERE h."%[3]s" = r."%[3]s" AND h.version = r.version AND h."%[4]s" = r."%[5]s")
			OR r.version <> (SELECT count(*) FROM "%[2]s" h WHERE h."%[3]s" = r."%[3]s")`, t.Record, t.History, t.ID, t.To, t.State)
	})
	return finding{"every record is where its history ends", astray}, err
}

// ledger: what the steps booked adds up, and each deposit is booked once.
func (a *app) ledger(ctx context.Context) (finding, error) {
	sum, err := a.number(ctx, "SELECT coalesce(sum(nano), 0) FROM service_ledger")
	if err != nil {
		return finding{}, err
	}
	booked, err := a.number(ctx, "SELECT count(*) FROM service_ledger WHERE account = 'EXTERNAL_TON'")
	if err != nil {
		return finding{}, err
	}
	funded, err := a.number(ctx, "SELECT count(*) FROM deal_events WHERE transition IN ('fund', 'fund_overpaid')")
	f := finding{text: fmt.Sprintf("the ledger of the deals adds up to %d: %d funded, %d deposits booked", sum, funded, booked)}
	if sum != 0 || booked != funded {
		f.problems = 1
	}
	return f, err
}

// onceEach: what a step writes within its transaction is there once a step.
func (a *app) onceEach(ctx context.Context) (finding, error) {
	audits, err := a.number(ctx, "SELECT count(*) FROM service_notes WHERE machine = 'publish' AND effect = 'audit'")
	if err != nil {
		return finding{}, err
	}
	steps, err := a.number(ctx, "SELECT count(*) FROM publish_history WHERE version > 1")
	f := finding{text: fmt.Sprintf("each of %d steps of publish is audited once: %d audits", steps, audits)}
	if audits != steps {
		f.problems = 1
	}
	return f, err
}

// settled: nothing is left that a worker may do.
func (a *app) settled(ctx context.Context) (finding, error) {
	var delivered, cancelled, dead, waiting int
	const query = `SELECT count(*) FILTER (WHERE state = 'delivered'), count(*) FILTER (WHERE cancelled = 1 AND state <> 'delivered'),
		count(*) FILTER (WHERE state = 'dead_letter' AND cancelled = 0), count(*) FILTER (WHERE cancelled = 0 AND ` + keptBack + `) FROM fsm_outbox o`
	err := a.rows(ctx, func(r *sql.Rows) error { return r.Scan(&delivered, &cancelled, &dead, &waiting) }, query)
	if err != nil {
		return finding{}, err
	}
	left, err := a.number(ctx, "SELECT count(*) FROM fsm_outbox o WHERE "+unfinished)
	text := fmt.Sprintf("no effect is left undone: %d delivered, %d cancelled with their state, %d dead letters, %d behind those", delivered, cancelled, dead, waiting)
	return finding{text, left}, err
}

// recovered: what the killed worker had was carrying out has come to an end.
func (a *app) recovered(ctx context.Context, cut []cutEffect) (finding, error) {
	f := finding{}
	repeated, cancelled := 0, 0
	for _, c := range cut {
		var state string
		var left bool
		err := a.rows(ctx, func(r *sql.Rows) error { return r.Scan(&state, &left) },
			"SELECT state, cancelled FROM fsm_outbox WHERE message_id = ?", c.id)
		switch {
		case err != nil:
			return f, err
		case left:
			cancelled++
		case state == "delivered", state == "dead_letter":
			repeated++
		default:
			f.problems++
		}
	}
	lost, err := a.number(ctx, "SELECT count(*) FROM unpack_history WHERE transition = 'extract_lost'")
	f.text = fmt.Sprintf("of %d effects that the kill cut short (%s) %d were taken up again, %d cancelled with their state; %d extractions reported lost",
		len(cut), classes(cut), repeated, cancelled, lost)
	return f, err
}

// number reads one number.
func (a *app) number(ctx context.Context, query string, args ...any) (n int, err error) {
	err = a.store.InTx(ctx, func(tx *sql.Tx) error { return tx.QueryRowContext(ctx, query, args...).Scan(&n) })
	if err != nil {
		return 0, fmt.Errorf("count: %w", err)
	}
	return n, nil
}

// rows calls read for each row.
func (a *app) rows(ctx context.Context, read func(*sql.Rows) error, query string, args ...any) error {
	return a.store.InTx(ctx, func(tx *sql.Tx) error {
		found, err := tx.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer func() { _ = found.Close() }() // what Err returns is what counts
		for found.Next() {
			if err := read(found); err != nil {
				return err
			}
		}
		return found.Err()
	})
}
