package attacks

import "strings"

const (
	messageColumns = `fsm_outbox (message_id, machine, record_id, version, seq, effect, destination, delivery, work, payload, created_at, state, attempts, available_at)`

	// payoutOf asks for a payout of a deal by the last step of its history.
	payoutOf = `INSERT INTO ` + messageColumns + `
		SELECT '00000000-0000-4000-8000-00000000ffff', 'deal', CAST(deal_id AS text), version, 2, 'execute_payout', 'ton', 'queryable', false,
			'{"deal_id":"00000000-0000-4000-8000-000000000010","owner_id":8,"deposit_nano":100}', created_at, 'pending', 0, created_at
		FROM deal_events WHERE deal_id = {disputed} ORDER BY version DESC LIMIT 1`

	// again copies a message of a funded deal.
	again = `INSERT INTO ` + messageColumns + `
		SELECT '00000000-0000-4000-8000-00000000ffff', machine, record_id, version, seq + 1, effect, destination, delivery, work, payload, created_at, state, attempts, available_at
		FROM fsm_outbox WHERE record_id = {funded} AND version = 1`

	// claimed makes a worker of the attacker.
	claimed = `UPDATE fsm_outbox SET state = 'delivering', attempts = attempts + 1, lease_token = '00000000-0000-4000-8000-00000000aaaa', lease_until = available_at
		WHERE record_id = {funded} AND NOT cancelled`
	deadlineColumns = `fsm_deadlines (machine, record_id, kind, version, due_at, event, payload)`
)

// engineAttacks are on messages, deadlines and keys.
func engineAttacks() []Attack {
	var list []Attack
	for _, part := range [][]Attack{messageEdits(), plantedMessages(), deadlineAttacks(), keyAttacks()} {
		for _, a := range part {
			a.On = Messages
			list = append(list, a)
		}
	}
	return list
}

// messageEdits change and delete messages that are there.
func messageEdits() []Attack {
	var list []Attack
	for _, set := range []string{
		`message_id = '00000000-0000-4000-8000-00000000ffff'`, `machine = 'registration'`, `record_id = {draft}`, `version = version + 1`,
		`seq = seq + 7`, `effect = 'execute_payout'`, `destination = 'elsewhere'`, `delivery = 'at_most_once'`, `work = NOT work`,
		`payload = '{"owner_id":9,"status":"FUNDED"}'`, `record_state = 'DRAFT'`, `correlation = 'another'`, `created_at = available_at`,
	} {
		list = append(list, Attack{Name: "a message is rewritten: " + set, Refused: "fsm_outbox", SQL: []string{"UPDATE fsm_outbox SET " + set + " WHERE record_id = {funded}"}})
	}
	for _, set := range []string{
		`state = 'delivered', delivered_at = created_at`, `state = 'dead_letter'`, `state = 'retry_wait'`, `attempts = 99`, `cancelled = true`,
		`state = 'dead_letter', discarded_at = created_at`, `last_error = 'none'`, `resolution = 'asked'`, `cut = 1`, `cut = -1`,
		`state = 'delivering', lease_token = '00000000-0000-4000-8000-00000000aaaa', lease_until = created_at`,
	} {
		list = append(list, Attack{Name: "a message goes where no worker sends it: " + set, Refused: "fsm_outbox", SQL: []string{"UPDATE fsm_outbox SET " + set + " WHERE record_id = {funded} AND NOT work"}})
	}
	const delivered = `UPDATE fsm_outbox SET state = 'delivered', delivered_at = created_at, lease_token = NULL, lease_until = NULL WHERE record_id = {funded} AND NOT cancelled`
	return append(list,
		Attack{Name: "a delivered message is sent again", Refused: "fsm_outbox", SQL: []string{claimed, delivered, `UPDATE fsm_outbox SET state = 'pending', attempts = 0, delivered_at = NULL WHERE record_id = {funded} AND NOT cancelled`}},
		Attack{Name: "an attempt is forgotten", Refused: "fsm_outbox", SQL: []string{claimed, `UPDATE fsm_outbox SET state = 'pending', attempts = 0, lease_token = NULL, lease_until = NULL WHERE record_id = {funded} AND NOT cancelled`}},
		Attack{Name: "an attempt that nothing cut short is counted so", Refused: "fsm_outbox", SQL: []string{strings.Replace(claimed, "attempts + 1", "attempts + 1, cut = 1", 1)}},
		Attack{Name: "an attempt is cut short without a claim", Refused: "fsm_outbox", SQL: []string{claimed, `UPDATE fsm_outbox SET cut = 1 WHERE record_id = {funded} AND NOT cancelled`}},
		Attack{Name: "a dead letter is requeued without a reason", Refused: "fsm_outbox", SQL: []string{
			claimed, `UPDATE fsm_outbox SET state = 'dead_letter', lease_token = NULL, lease_until = NULL WHERE record_id = {funded} AND NOT cancelled`,
			`UPDATE fsm_outbox SET state = 'pending', attempts = 0 WHERE record_id = {funded} AND NOT cancelled`,
		}},
		Attack{Name: "messages are deleted", Refused: "fsm_outbox", SQL: []string{`DELETE FROM fsm_outbox WHERE record_id = {funded}`}},
		Attack{Name: "delivered messages are deleted", Refused: "fsm_outbox", SQL: []string{claimed, delivered, `DELETE FROM fsm_outbox WHERE record_id = {funded}`}},
		Attack{Name: "messages are pruned by a role that does not own them", Refused: "fsm_outbox", Postgres: []string{claimed, delivered, `SELECT fsm_prune('infinity')`}, SQLite: []string{`DELETE FROM fsm_outbox`}},
		Attack{Name: "messages are truncated", Refused: "42501", Postgres: []string{`TRUNCATE fsm_outbox`}, SQLite: []string{}},
		Attack{
			Name: "a worker's own steps", SQL: []string{claimed, delivered},
			Free: "who may update messages can claim one and say that it is delivered, as a worker does: the database can't see the handler",
		},
	)
}

// plantedMessages insert messages that no step asks for.
func plantedMessages() []Attack {
	return []Attack{
		{Name: "a payout is planted", Refused: "fsm_outbox", SQL: []string{payoutOf}},
		{Name: "a message is sent twice", Refused: "fsm_outbox", SQL: []string{again}},
		{Name: "a message of no record", Refused: "fsm_outbox", SQL: []string{`INSERT INTO ` + messageColumns + `
			SELECT '00000000-0000-4000-8000-00000000ffff', machine, '00000000-0000-4000-8000-00000000eeee', version, seq, effect, destination, delivery, work, payload, created_at, state, attempts, available_at
			FROM fsm_outbox WHERE record_id = {funded} AND version = 1`}},
		{Name: "a message of no machine", Refused: "fsm_outbox", SQL: []string{`INSERT INTO ` + messageColumns + `
			SELECT '00000000-0000-4000-8000-00000000ffff', 'none', record_id, version, seq + 1, effect, destination, delivery, work, payload, created_at, state, attempts, available_at
			FROM fsm_outbox WHERE record_id = {funded} AND version = 1`}},
		{Name: "a message is planted as delivered", Refused: "fsm_outbox", SQL: []string{`INSERT INTO ` + messageColumns + `
			SELECT '00000000-0000-4000-8000-00000000ffff', machine, record_id, version, seq + 1, effect, destination, delivery, work, payload, created_at, 'dead_letter', 3, NULL
			FROM fsm_outbox WHERE record_id = {funded} AND version = 1`}},
		{Name: "a message is replaced", Refused: "fsm_outbox", Postgres: []string{}, SQLite: []string{`INSERT OR REPLACE INTO ` + messageColumns + `
			SELECT message_id, machine, record_id, version, seq, effect, destination, delivery, work, '{"deal_id":"other"}', created_at, state, attempts, available_at
			FROM fsm_outbox WHERE record_id = {funded} AND version = 1`}},
		{Name: "a message is replaced by its place", Refused: "fsm_outbox", Postgres: []string{}, SQLite: []string{`INSERT OR REPLACE INTO ` + messageColumns + `
			SELECT 'other', machine, record_id, version, seq, effect, destination, delivery, work, payload, created_at, state, attempts, available_at
			FROM fsm_outbox WHERE record_id = {funded} AND version = 1`}},
	}
}

// deadlineAttacks make deadlines come early, late or never.
func deadlineAttacks() []Attack {
	var list []Attack
	for _, set := range []string{
		`due_at = {now}`, `event = 'AUTO_APPROVE'`, `payload = '{"x":1}'`, `version = version - 1`, `record_id = {draft}`, `machine = 'registration'`, `kind = 'raise'`, `record_state = 'DRAFT'`,
		`version = version + 1, due_at = {now}`,
	} {
		list = append(list, Attack{
			Name: "a deadline is rewritten: " + set, Refused: "fsm_deadlines",
			Postgres: []string{"UPDATE fsm_deadlines SET " + strings.ReplaceAll(set, "{now}", "now()") + " WHERE record_id = {funded}"},
			SQLite:   []string{"UPDATE fsm_deadlines SET " + strings.ReplaceAll(set, "{now}", "'2026-01-01T00:00:00.000000Z'") + " WHERE record_id = {funded}"},
		})
	}
	plant := func(record, kind, version, event string) []string {
		return []string{`INSERT INTO ` + deadlineColumns + ` SELECT 'deal', ` + record + `, '` + kind + `', ` + version + `, due_at, '` + event + `', '{}' FROM fsm_deadlines WHERE record_id = {funded}`}
	}
	return append(list,
		Attack{Name: "a state without a timeout gets one", Refused: "fsm_deadlines", SQL: plant("{draft}", "timeout", "1", "EXPIRE")},
		Attack{Name: "a deadline of an event of another state", Refused: "fsm_deadlines", SQL: append([]string{`UPDATE fsm_deadlines SET lease_token = '00000000-0000-4000-8000-00000000aaaa', lease_until = due_at WHERE record_id = {submitted}`, `DELETE FROM fsm_deadlines WHERE record_id = {submitted}`},
			plant("{submitted}", "timeout", "6", "AUTO_APPROVE")...)},
		Attack{Name: "a deadline of a step to come", Refused: "fsm_deadlines", SQL: plant("{submitted}", "timeout", "99", "EXPIRE")},
		Attack{Name: "an event is raised by hand", Refused: "fsm_deadlines", SQL: plant("{disputed}", "raise", "7", "RESOLVE_FOR_OWNER")},
		Attack{Name: "a deadline of no record", Refused: "fsm_deadlines", SQL: plant("'00000000-0000-4000-8000-00000000eeee'", "timeout", "1", "EXPIRE")},
		Attack{Name: "a deadline is cleared", Refused: "fsm_deadlines", SQL: []string{`DELETE FROM fsm_deadlines WHERE record_id = {funded}`}},
		Attack{Name: "deadlines are truncated", Refused: "42501", Postgres: []string{`TRUNCATE fsm_deadlines`}, SQLite: []string{}},
		Attack{
			Name: "a claimed deadline is deleted",
			SQL:  []string{`UPDATE fsm_deadlines SET lease_token = '00000000-0000-4000-8000-00000000aaaa', lease_until = due_at WHERE record_id = {funded}`, `DELETE FROM fsm_deadlines WHERE record_id = {funded}`},
			Free: "a worker consumes a deadline whose event the record refuses: no rule can ask the clock of the engine whether it was due; Resume sets it again",
		},
	)
}

// keyAttacks accept a call twice, or never.
func keyAttacks() []Attack {
	plant := func(record, event, version string) []string {
		return []string{`INSERT INTO fsm_keys (machine, key, record_id, event, version, created_at) SELECT 'deal', 'deposit:mine', ` + record + `, '` + event + `', ` + version +
			`, created_at FROM deal_events WHERE deal_id = {funded} AND version = 1`}
	}
	return []Attack{
		{Name: "keys are deleted", Refused: "fsm_keys", SQL: []string{`DELETE FROM fsm_keys WHERE record_id = {funded}`}},
		{Name: "a key is given to another record", Refused: "fsm_keys", SQL: []string{`UPDATE fsm_keys SET record_id = {draft} WHERE record_id = {funded}`}},
		{Name: "a key is renamed", Refused: "fsm_keys", SQL: []string{`UPDATE fsm_keys SET key = 'other' WHERE record_id = {funded}`}},
		{Name: "a key is used up for a step to come", Refused: "fsm_keys", SQL: plant("{funded}", "SUBMIT_DRAFT", "6")},
		{Name: "a key is used up for another event", Refused: "fsm_keys", SQL: plant("{funded}", "DEPOSIT_CONFIRMED", "1")},
		{Name: "a key is used up for no record", Refused: "fsm_keys", SQL: plant("'00000000-0000-4000-8000-00000000eeee'", "CREATE", "1")},
		{Name: "keys are truncated", Refused: "42501", Postgres: []string{`TRUNCATE fsm_keys`}, SQLite: []string{}},
		{
			Name: "a further key of a step that was taken", SQL: plant("{funded}", "CREATE", "1"),
			Free: "a call may have several keys; one more is answered with the step that it names, which was taken",
		},
	}
}
