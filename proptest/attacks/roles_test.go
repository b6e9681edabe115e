package attacks_test

import (
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/proptest/attacks"
)

// What docs/operating.md says that each role gets, statement by statement.
func TestRoles(t *testing.T) {
	const (
		step = `UPDATE deals SET version = version + 1, last_event = 'SUBMIT_OFFER', status = 'OFFER_PENDING' WHERE deal_id = {draft}`
		told = `INSERT INTO deal_events (event_id, deal_id, version, event_type, from_status, to_status, transition, actor_role, actor_id, created_at)
			SELECT deal_id, deal_id, 2, 'SUBMIT_OFFER', 'DRAFT', 'OFFER_PENDING', 'submit_offer', 'advertiser', 7, updated_at FROM deals WHERE deal_id = {draft}`
		resolve   = `UPDATE fsm_outbox SET resolution = resolution WHERE false`
		cancel    = `UPDATE fsm_outbox SET cancelled = cancelled WHERE false`
		deliver   = `UPDATE fsm_outbox SET state = state, lease_token = lease_token WHERE false`
		rewrite   = `UPDATE fsm_outbox SET payload = payload WHERE false`
		disarm    = `DELETE FROM fsm_deadlines WHERE false`
		forget    = `DELETE FROM fsm_keys WHERE false`
		drop      = `DELETE FROM fsm_outbox WHERE false`
		erase     = `DELETE FROM deals WHERE false`
		narrate   = `UPDATE deal_events SET payload = payload WHERE false`
		partition = `INSERT INTO deal_events_default SELECT * FROM deal_events WHERE false`
		empty     = `TRUNCATE deals CASCADE`
		disable   = `ALTER TABLE deals DISABLE TRIGGER deal_update`
		pause     = `INSERT INTO fsm_pauses VALUES ('deal', '', '', 'ann', 'to see', now()); DELETE FROM fsm_pauses WHERE machine = 'deal'`
		force     = `INSERT INTO fsm_forced SELECT 'deal', deal_id::text, version, 'ann', 'to see', updated_at FROM deals WHERE false`
		unforce   = `DELETE FROM fsm_forced WHERE false`
		create    = `CREATE TABLE mine (n int)`
		read      = `CREATE TEMPORARY TABLE seen AS SELECT d.deal_id, m.state, k.key, l.due_at, p.who, e.version, s.version AS schema
			FROM deals AS d, fsm_outbox AS m, fsm_keys AS k, fsm_deadlines AS l, fsm_pauses AS p, deal_events AS e, fsm_schema AS s LIMIT 1`
	)
	db := attacks.Postgres(t)
	may := map[attacks.Role][]string{
		attacks.Reader:   {read},
		attacks.Operator: {read, resolve, pause},
		attacks.Service:  {read, step + ";" + told, cancel, disarm, force},
		attacks.Engine:   {read, step + ";" + told, cancel, disarm, deliver, resolve, pause, force},
		attacks.Owner:    {read, disable, create},
	}
	mayNot := map[attacks.Role][]string{
		attacks.Reader:   {step, told, pause, force, unforce, resolve, cancel, deliver, disarm, forget, drop, erase, narrate, partition, empty, disable, create},
		attacks.Operator: {step, told, force, unforce, rewrite, cancel, deliver, disarm, forget, drop, erase, narrate, partition, empty, disable, create},
		attacks.Service:  {pause, unforce, resolve, deliver, rewrite, forget, drop, erase, narrate, partition, empty, disable, create},
		attacks.Engine:   {unforce, forget, drop, erase, narrate, partition, empty, disable, create},
	}
	for role, list := range may {
		for _, s := range list {
			if _, err := db.Try(t.Context(), role, filled(db, s)); err != nil {
				t.Errorf("%s is refused: %v\n%s", role, err, s)
			}
		}
	}
	for role, list := range mayNot {
		for _, s := range list {
			_, err := db.Try(t.Context(), role, filled(db, s))
			if by, refused := db.Refusal(err); !refused || !strings.HasPrefix(by, "42501") {
				t.Errorf("%s lacks no privilege: %v\n%s", role, err, s)
			}
		}
	}
}

// filled are statements with the id of the record draft.
func filled(db attacks.Database, s string) []string {
	return strings.Split(strings.ReplaceAll(s, "{draft}", "'"+db.IDs()["draft"]+"'"), ";")
}
