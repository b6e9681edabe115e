package database

import (
	"context"
	"time"
)

// sets is what a database does for many registrations in one transaction, which
// is that of the querier.
type sets interface {
	// last returns the last registrations of nodes, of those that have any.
	last(ctx context.Context, q querier, nodes []string) (map[string]Registration, error)
	// owners is Rows.Owners.
	owners(ctx context.Context, q querier, nodes []string) (registrations map[string]string, err error)
	// lockNames keeps transactions that ask about one of the service ids apart until
	// they end. What they wait for they wait for briefly.
	lockNames(ctx context.Context, q querier, services []string) error
	// awaitNames waits, outside of transactions, for those that have locked one.
	awaitNames(ctx context.Context, q querier, services []string) error
	// holders returns the nodes of service ids that others have than the
	// registrations that want them.
	holders(ctx context.Context, q querier, wanted []Claim) (nodes map[string]string, err error)
	// upsert writes rows as Rows.Upsert does, of registrations that this
	// transaction moves on; those that registration_daemons does not know yet are the
	// given daemon's. It returns the nodes whose rows were written, and waits briefly
	// for those that other transactions have locked.
	upsert(ctx context.Context, q querier, rows []Row, daemon string, now time.Time) (written map[string]bool, err error)
}

// Claim is a service id and the registration that wants it.
type Claim struct{ Service, Registration string }

// InlineTx is the transaction that stores the steps whose effects are carried out in it.
type InlineTx struct {
	q    querier
	sets sets
}

// LockNames keeps transactions that ask about one of the service ids apart until they
// end. The ids are in order; what it waits for it waits for briefly.
func (t InlineTx) LockNames(ctx context.Context, services []string) error {
	return t.sets.lockNames(ctx, t.q, services)
}

// Holders returns the nodes of service ids that others have than the registrations that
// want them.
func (t InlineTx) Holders(ctx context.Context, wanted []Claim) (nodes map[string]string, err error) {
	return t.sets.holders(ctx, t.q, wanted)
}

// Upsert writes the rows, sorted by node, of registrations that this transaction moves
// on; those that have no daemon yet are the given one's. It returns the nodes whose rows
// were written, and waits briefly for rows that other transactions have locked.
func (t InlineTx) Upsert(ctx context.Context, rows []Row, daemon string, now time.Time) (written map[string]bool, err error) {
	return t.sets.upsert(ctx, t.q, rows, daemon, now)
}

// brief is how long a transaction waits for a lock that holds up all that share it.
const brief = "200ms"

// last, as what follows, has a LIMIT of as many rows as there are. It changes nothing
// but the plan: PostgreSQL then expects few of them, looks each up by an index, and
// keeps that plan.
func (postgresDatabase) last(ctx context.Context, q querier, nodes []string) (map[string]Registration, error) {
	all := map[string]Registration{}
	err := q.query(ctx, func(scan scan) error {
		var node string
		var r Registration
		err := scan(&node, &r.ID, &r.Live)
		all[node] = r
		return err
	}, `SELECT n.node, r.registration_id::text, r.state <> 'deregistered' FROM (SELECT * FROM unnest($1::text[]) AS n (node) LIMIT cardinality($1::text[])) AS n CROSS JOIN LATERAL
		(SELECT registration_id, state FROM registration_records WHERE node_id = n.node ORDER BY registration_id DESC LIMIT 1) AS r`, nodes)
	return all, err
}

func (postgresDatabase) owners(ctx context.Context, q querier, nodes []string) (map[string]string, error) {
	return pairs(ctx, q, `SELECT n.node, r.registration_id::text FROM (SELECT * FROM unnest($1::text[]) AS n (node) LIMIT cardinality($1::text[])) AS n CROSS JOIN LATERAL
		(SELECT registration_id FROM node_registrations WHERE node_id = n.node LIMIT 1) AS r`, nodes)
}

// pairs reads rows of two texts as a map.
func pairs(ctx context.Context, q querier, statement string, args ...any) (map[string]string, error) {
	all := map[string]string{}
	err := q.query(ctx, func(scan scan) error {
		var key, value string
		err := scan(&key, &value)
		all[key] = value
		return err
	}, statement, args...)
	return all, err
}

func (postgresDatabase) lockNames(ctx context.Context, q querier, services []string) error {
	_, err := q.exec(ctx, "SELECT set_config('lock_timeout', $2, true), "+namesLocked, services, brief)
	return err
}

func (postgresDatabase) awaitNames(ctx context.Context, q querier, services []string) error {
	_, err := q.exec(ctx, "SELECT "+namesLocked, services)
	return err
}

// namesLocked locks the names $1, in their order.
const namesLocked = "(SELECT count(pg_advisory_xact_lock(hashtextextended('fsmgen registration ' || s, 0))) FROM unnest($1::text[]) AS s)"

func (postgresDatabase) holders(ctx context.Context, q querier, wanted []Claim) (map[string]string, error) {
	services, registrations := make([]string, len(wanted)), make([]string, len(wanted))
	for i, c := range wanted {
		services[i], registrations[i] = c.Service, c.Registration
	}
	return pairs(ctx, q, `SELECT w.service, r.node_id FROM (SELECT * FROM unnest($1::text[], $2::uuid[]) AS w (service, registration) LIMIT cardinality($1::text[])) AS w CROSS JOIN LATERAL
		(SELECT node_id FROM registration_records WHERE consul_service_id = w.service AND registration_id <> w.registration AND `+claims+` LIMIT 1) AS r`,
		services, registrations)
}

func (postgresDatabase) upsert(ctx context.Context, q querier, rows []Row, daemon string, now time.Time) (map[string]bool, error) {
	columns := make([][]string, 7)
	for _, r := range rows {
		for i, v := range []string{r.NodeID, r.RegistrationID, r.DeploymentID, r.Environment, r.NetworkID, string(r.Record), r.CorrelationID} {
			columns[i] = append(columns[i], v)
		}
	}
	written := map[string]bool{}
	err := q.query(ctx, func(scan scan) error {
		var node string
		err := scan(&node)
		written[node] = true
		return err
	}, `WITH brief AS (SELECT set_config('lock_timeout', $10, true))
		INSERT INTO node_registrations AS n `+rowColumns+`
		SELECT s.node, s.registration, s.deployment, s.environment, s.network, s.record, 'registered',
			coalesce((SELECT d.daemon FROM registration_daemons AS d WHERE d.registration_id = s.registration), $8), $9, s.correlation, $9, $9
		FROM (SELECT * FROM unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::jsonb[], $7::text[])
			AS s (node, registration, deployment, environment, network, record, correlation) LIMIT cardinality($1::text[])) AS s, brief`+replaceRow+` RETURNING n.node_id`,
		columns[0], columns[1], columns[2], columns[3], columns[4], columns[5], columns[6], daemon, now, brief)
	return written, err
}

func (sqliteDatabase) last(ctx context.Context, q querier, nodes []string) (map[string]Registration, error) {
	all := map[string]Registration{}
	for _, node := range nodes {
		id, live, err := current(ctx, q, node)
		if err != nil {
			return nil, err
		}
		all[node] = Registration{id, live}
	}
	return all, nil
}

func (sqliteDatabase) owners(ctx context.Context, q querier, nodes []string) (map[string]string, error) {
	all := map[string]string{}
	for _, node := range nodes {
		var id string
		found, err := one(ctx, q, "SELECT registration_id FROM node_registrations WHERE node_id = $1", []any{node}, &id)
		if err != nil {
			return nil, err
		}
		if found {
			all[node] = id
		}
	}
	return all, nil
}

// SQLite has one transaction at a time that writes.
func (sqliteDatabase) lockNames(context.Context, querier, []string) error { return nil }

func (sqliteDatabase) awaitNames(context.Context, querier, []string) error { return nil }

func (sqliteDatabase) holders(ctx context.Context, q querier, wanted []Claim) (map[string]string, error) {
	nodes := map[string]string{}
	for _, c := range wanted {
		var node string
		found, err := one(ctx, q, claimant+" LIMIT 1", []any{c.Service, c.Registration}, &node)
		if err != nil {
			return nil, err
		}
		if found {
			nodes[c.Service] = node
		}
	}
	return nodes, nil
}

func (sqliteDatabase) upsert(ctx context.Context, q querier, rows []Row, daemon string, now time.Time) (map[string]bool, error) {
	written := map[string]bool{}
	for _, r := range rows {
		changed, err := q.exec(ctx, `INSERT INTO node_registrations AS n `+rowColumns+`
			SELECT $1, $2, $3, $4, $5, $6, 'registered', coalesce((SELECT daemon FROM registration_daemons WHERE registration_id = $2), $9), $7, $8, $7, $7
			WHERE true`+replaceRow,
			r.NodeID, r.RegistrationID, r.DeploymentID, r.Environment, r.NetworkID, string(r.Record), now, r.CorrelationID, daemon)
		if err != nil {
			return nil, err
		}
		written[r.NodeID] = changed > 0
	}
	return written, nil
}
