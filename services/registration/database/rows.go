package database

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Rows are the table node_registrations, and what the collectors note beside it, in a
// database of either kind. A statement that is written once is right for both; they
// differ in how a row is locked. registration.Registry says what each method does.
type Rows struct {
	db    dialect
	clock engine.Clock
}

// NewRows returns the rows in the tables of a PostgreSQL database, over connections of
// the caller's own, two at least: see Hold. The tables are made by DB.Migrate.
func NewRows(pool Pool, clock engine.Clock) *Rows { return &Rows{postgresDatabase{pool}, clock} }

func (r *Rows) now() time.Time { return fsm.Instant(r.clock.Now()) }

// do runs f in a transaction and names the attempt in its error.
func (r *Rows) do(ctx context.Context, attempt string, f func(querier) error) error {
	if err := r.db.inTx(ctx, f); err != nil {
		return fmt.Errorf("%s: %w", attempt, classified(ctx, err))
	}
	return nil
}

// doOnce is do for a single statement.
func (r *Rows) doOnce(ctx context.Context, attempt string, f func(querier) error) error {
	if err := r.db.once(ctx, f); err != nil {
		return fmt.Errorf("%s: %w", attempt, classified(ctx, err))
	}
	return nil
}

// Upsert writes the row of a node, as heard of now.
func (r *Rows) Upsert(ctx context.Context, row Row) error {
	return r.doOnce(ctx, "upsert the row of node "+row.NodeID, func(q querier) error {
		changed, err := q.exec(ctx, `INSERT INTO node_registrations AS n `+rowColumns+`
			SELECT $1, $2, $3, $4, $5, $6, 'registered', coalesce((SELECT daemon FROM registration_daemons WHERE registration_id = $2), ''), $7, $8, $7, $7
			WHERE NOT EXISTS (SELECT 1 FROM registration_records WHERE registration_id = $2 AND state IN ('failed', 'deregistered'))`+replaceRow,
			row.NodeID, row.RegistrationID, row.DeploymentID, row.Environment, row.NetworkID, string(row.Record), r.now(), row.CorrelationID)
		if err == nil && changed == 0 {
			return fmt.Errorf("%w, or ended: the row is not written", ErrSuperseded)
		}
		return err
	})
}

const (
	rowColumns = `(node_id, registration_id, deployment_id, environment, network_id, record, status, daemon, last_heartbeat, correlation_id, registered_at, updated_at)`

	// replaceRow replaces what an earlier registration has left.
	replaceRow = ` ON CONFLICT (node_id) DO UPDATE SET
		registered_at = CASE WHEN n.registration_id = excluded.registration_id THEN n.registered_at ELSE excluded.registered_at END,
		registration_id = excluded.registration_id, deployment_id = excluded.deployment_id, environment = excluded.environment,
		network_id = excluded.network_id, record = excluded.record, status = excluded.status, daemon = excluded.daemon,
		last_heartbeat = excluded.last_heartbeat, correlation_id = excluded.correlation_id, updated_at = excluded.updated_at
		WHERE excluded.registration_id >= n.registration_id`
)

// Owners returns the registrations that have the rows of nodes.
func (r *Rows) Owners(ctx context.Context, nodeIDs []string) (ids map[string]string, err error) {
	err = r.doOnce(ctx, "read who has the rows", func(q querier) (err error) {
		ids, err = r.db.owners(ctx, q, nodeIDs)
		return err
	})
	return ids, err
}

// Hold calls f while the row of a registration can't go. It returns what f returns as it is.
func (r *Rows) Hold(ctx context.Context, of Key, f func() error) error {
	var inside error
	err := r.db.hold(ctx, of, func() error {
		inside = f()
		return inside
	})
	if inside != nil || err == nil {
		return inside
	}
	return fmt.Errorf("hold the row of node %s: %w", of.NodeID, classified(ctx, err))
}

// Heartbeat notes that nodes were heard of now.
func (r *Rows) Heartbeat(ctx context.Context, of []Key) error {
	of = slices.Clone(of)
	slices.SortFunc(of, func(a, b Key) int { return strings.Compare(a.NodeID, b.NodeID) }) // two daemons lock in one order
	return r.do(ctx, "heartbeat", func(q querier) error {
		now := r.now()
		for _, k := range of {
			if _, err := q.exec(ctx, `UPDATE node_registrations SET last_heartbeat = $3
				WHERE node_id = $1 AND registration_id = $2 AND last_heartbeat < $3`, k.NodeID, k.RegistrationID, now); err != nil {
				return err
			}
		}
		return nil
	})
}

// Delete removes the row of a node if it is that of the registration.
func (r *Rows) Delete(ctx context.Context, of Key) error {
	done, err := r.db.removing(ctx)
	if err != nil {
		return fmt.Errorf("delete the row of node %s: %w", of.NodeID, classified(ctx, err))
	}
	defer done()
	return r.doOnce(ctx, "delete the row of node "+of.NodeID, func(q querier) error {
		_, err := q.exec(ctx, "DELETE FROM node_registrations WHERE node_id = $1 AND registration_id = $2", of.NodeID, of.RegistrationID)
		return err
	})
}

// Stale lists rows that were last heard of before a time.
func (r *Rows) Stale(ctx context.Context, before time.Time, after Stale, limit int) (out []Stale, err error) {
	err = r.do(ctx, "look for stale rows", func(q querier) error {
		return q.query(ctx, func(scan scan) error {
			var s Stale
			err := scan(&s.NodeID, &s.RegistrationID, &s.Environment, &s.LastHeartbeat)
			s.LastHeartbeat = s.LastHeartbeat.UTC()
			out = append(out, s)
			return err
		}, `SELECT node_id, CAST(registration_id AS text), environment, last_heartbeat FROM node_registrations
			WHERE last_heartbeat < $1 AND (last_heartbeat, node_id) > ($2, $3) AND status NOT IN ('deregistered', 'unregistered')
			ORDER BY last_heartbeat, node_id LIMIT $4`, before, after.LastHeartbeat, after.NodeID, limit)
	})
	return out, err
}

// Collect removes those of the rows that are still stale, and logs it.
func (r *Rows) Collect(ctx context.Context, rows []Stale, before time.Time) (gone []Key, err error) {
	done, err := r.db.removing(ctx)
	if err != nil {
		return nil, fmt.Errorf("collect stale rows: %w", classified(ctx, err))
	}
	defer done()
	err = r.do(ctx, "collect stale rows", func(q querier) error {
		for _, row := range rows {
			var is int
			still, err := one(ctx, q, `SELECT 1 FROM node_registrations
				WHERE node_id = $1 AND registration_id = $2 AND last_heartbeat < $3`+r.db.lockFree(),
				[]any{row.NodeID, row.RegistrationID, before}, &is)
			if err != nil {
				return err
			}
			if !still {
				continue
			}
			if _, err := q.exec(ctx, "DELETE FROM node_registrations WHERE node_id = $1", row.NodeID); err != nil {
				return err
			}
			gone = append(gone, row.Key)
		}
		nodes := make([]string, len(gone))
		for i, k := range gone {
			nodes[i] = k.NodeID
		}
		return r.log(ctx, q, "postgres", nodes)
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}

// LogCollected notes whose services were removed.
func (r *Rows) LogCollected(ctx context.Context, nodeIDs []string) error {
	return r.do(ctx, "log what was collected", func(q querier) error { return r.log(ctx, q, "consul", nodeIDs) })
}

func (r *Rows) log(ctx context.Context, q querier, kind string, nodes []string) error {
	if len(nodes) == 0 {
		return nil
	}
	list, err := json.Marshal(nodes)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, "INSERT INTO registration_gc_log (run_timestamp, gc_type, nodes_cleaned, node_ids) VALUES ($1, $2, $3, $4)",
		r.now(), kind, len(nodes), string(list))
	return err
}

// SeenCritical notes which services are critical now, and returns since when.
func (r *Rows) SeenCritical(ctx context.Context, now []CriticalService) (since map[CriticalService]time.Time, err error) {
	err = r.do(ctx, "remember critical services", func(q querier) error {
		since, err = r.firstSeen(ctx, q)
		if err != nil {
			return err
		}
		for s := range since {
			if slices.Contains(now, s) {
				continue
			}
			delete(since, s)
			if _, err := q.exec(ctx, "DELETE FROM service_first_critical WHERE service_id = $1 AND registration_id = $2", s.ServiceID, s.RegistrationID); err != nil {
				return err
			}
		}
		for _, s := range now {
			if _, known := since[s]; known {
				continue
			}
			since[s] = r.now()
			if _, err := q.exec(ctx, "INSERT INTO service_first_critical (service_id, registration_id, first_seen) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
				s.ServiceID, s.RegistrationID, since[s]); err != nil {
				return err
			}
		}
		return nil
	})
	return since, err
}

func (r *Rows) firstSeen(ctx context.Context, q querier) (map[CriticalService]time.Time, error) {
	since := map[CriticalService]time.Time{}
	err := q.query(ctx, func(scan scan) error {
		var s CriticalService
		var first time.Time
		err := scan(&s.ServiceID, &s.RegistrationID, &first)
		since[s] = first.UTC()
		return err
	}, "SELECT service_id, registration_id, first_seen FROM service_first_critical ORDER BY service_id, registration_id")
	return since, err
}
