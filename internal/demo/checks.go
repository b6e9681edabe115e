package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// check is something that must hold at the end, read from the database alone: a query with one row
// of numbers, the first of which is how many problems there are, and what the others say.
type check struct{ query, says string }

// checks lists the checks in the order in which they are shown.
func (a *app) checks() []check {
	return []check{a.gapless(), a.atTheEnd(), ledger(), onceEach(), settled()}
}

// sum is a query that adds up what a query finds for each machine.
func (a *app) sum(query func(fsm.Tables) string) string {
	var each []string
	for _, m := range a.machines {
		each = append(each, "("+query(m.Tables())+")")
	}
	return strings.Join(each, " + ")
}

// gapless: versions are 1 to n, and each step begins where the one before ended.
func (a *app) gapless() check {
	broken := a.sum(func(t fsm.Tables) string {
		return fmt.Sprintf(`SELECT count(*) FROM (
			SELECT version, "%[1]s" AS began, lag(version, 1, 0) OVER w AS before, lag("%[2]s") OVER w AS ended
			FROM "%[3]s" WINDOW w AS (PARTITION BY "%[4]s" ORDER BY version)
		) WHERE version <> before + 1 OR began IS NOT ended`, t.From, t.To, t.History, t.ID)
	})
	steps := a.sum(func(t fsm.Tables) string { return fmt.Sprintf(`SELECT count(*) FROM "%s"`, t.History) })
	return check{"SELECT " + broken + ", " + steps, "history is gapless: %d steps, each from where the one before led"}
}

// atTheEnd: a record is where its history ends.
func (a *app) atTheEnd() check {
	astray := a.sum(func(t fsm.Tables) string {
		return fmt.Sprintf(`SELECT count(*) FROM "%[1]s" r WHERE NOT EXISTS (SELECT 1 FROM "%[2]s" h
			WHERE h."%[3]s" = r."%[3]s" AND h.version = r.version AND h."%[4]s" = r."%[5]s")
			OR r.version <> (SELECT count(*) FROM "%[2]s" h WHERE h."%[3]s" = r."%[3]s")`, t.Record, t.History, t.ID, t.To, t.State)
	})
	return check{"SELECT " + astray, "every record is where its history ends"}
}

// ledger: what the steps booked adds up, and each deposit is booked once.
func ledger() check {
	return check{`SELECT total <> 0 OR booked <> funded, total, funded, booked FROM (SELECT
		(SELECT coalesce(sum(nano), 0) FROM service_ledger) AS total,
		(SELECT count(*) FROM service_ledger WHERE account = 'EXTERNAL_TON') AS booked,
		(SELECT count(*) FROM deal_events WHERE transition IN ('fund', 'fund_overpaid')) AS funded)`,
		"the ledger of the deals adds up to %d: %d funded, %d deposits booked"}
}

// onceEach: what a step writes within its transaction is there once a step.
func onceEach() check {
	return check{`SELECT audits <> steps, steps, audits FROM (SELECT
		(SELECT count(*) FROM service_notes WHERE machine = 'publish' AND effect = 'audit') AS audits,
		(SELECT count(*) FROM publish_history WHERE version > 1) AS steps)`,
		"each of %d steps of publish is audited once: %d audits"}
}

// unfinished selects rows o of the outbox that a worker may still carry out.
const unfinished = `o.cancelled = 0 AND o.state IN ('pending', 'retry_wait', 'delivering') AND NOT ` + keptBack

// keptBack selects rows o of the outbox that stand behind a dead letter.
const keptBack = `EXISTS (SELECT 1 FROM fsm_outbox d WHERE d.machine = o.machine AND d.record_id = o.record_id AND d.destination = o.destination
	AND (d.version, d.seq) < (o.version, o.seq) AND d.state = 'dead_letter' AND d.cancelled = 0 AND d.discarded_at IS NULL)`

// settled: nothing is left that a worker may do.
func settled() check {
	return check{`SELECT count(*) FILTER (WHERE ` + unfinished + `), count(*) FILTER (WHERE state = 'delivered'),
		count(*) FILTER (WHERE cancelled = 1 AND state <> 'delivered'), count(*) FILTER (WHERE state = 'dead_letter' AND cancelled = 0),
		count(*) FILTER (WHERE cancelled = 0 AND ` + keptBack + `) FROM fsm_outbox o`,
		"no effect is left undone: %d delivered, %d cancelled with their state, %d dead letters, %d behind those"}
}

// recovered: what the killed worker was carrying out has come to an end.
func recovered(cut []cutEffect) check {
	ids := make([]string, len(cut))
	for i, c := range cut {
		ids[i] = "'" + c.id + "'"
	}
	return check{fmt.Sprintf(`SELECT %d - repeated - dropped, repeated, dropped, lost FROM (SELECT
		count(*) FILTER (WHERE cancelled) AS dropped,
		count(*) FILTER (WHERE NOT cancelled AND state IN ('delivered', 'dead_letter')) AS repeated,
		(SELECT count(*) FROM unpack_history WHERE transition = 'extract_lost') AS lost
		FROM fsm_outbox WHERE message_id IN (%s))`, len(cut), strings.Join(ids, ", ")),
		fmt.Sprintf("of %d effects that the kill cut short (%s)", len(cut), classes(cut)) +
			" %d were taken up again, %d cancelled with their state; %d extractions reported lost"}
}

// made makes a check. It returns how many problems there are, and what the check says.
func (a *app) made(ctx context.Context, c check) (problems int64, says string, err error) {
	err = a.rows(ctx, func(r *sql.Rows) error {
		columns, err := r.Columns()
		if err != nil {
			return err
		}
		numbers, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range numbers {
			into[i] = &numbers[i]
		}
		if err := r.Scan(into...); err != nil {
			return err
		}
		n, ok := numbers[0].(int64)
		if !ok {
			return fmt.Errorf("the number of problems is %v", numbers[0])
		}
		problems, says = n, fmt.Sprintf(c.says, numbers[1:]...)
		return nil
	}, c.query)
	return problems, says, err
}
