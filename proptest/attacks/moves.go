package attacks

import (
	"fmt"
	"slices"
	"strings"
)

// move is a step that a record of the fixture can take: the attacks on records are
// moves with something wrong.
type move struct {
	table, history, id, state string // of the machine
	record, event, to         string
	sets                      []string // what the step writes, "column = value"
	transition, role, actor   string   // what its history row tells; "": it has none
}

func dealMove(record, event, to string, sets ...string) move {
	return move{table: "deals", history: "deal_events", id: "deal_id", state: "status", record: record, event: event, to: to, sets: sets}
}

func registrationMove(record, event, to string, sets ...string) move {
	return move{table: "registration_records", history: "registration_history", id: "registration_id", state: "state", record: record, event: event, to: to, sets: sets}
}

// by is the move with a history row, which tells the row taken and who fired.
func (m move) by(transition, role string) move {
	actors := map[string]string{"advertiser": "7", "owner": "8", "operator": "1", "external": "'x-1'"}
	m.transition, m.role, m.actor = transition, role, "NULL"
	if actor, ok := actors[role]; ok {
		m.actor = actor
	}
	return m
}

// statements are the UPDATE, and the INSERT of the history row where there is one.
func (m move) statements(more ...string) []string {
	list := []string{m.sql(more...)}
	if m.transition != "" {
		list = append(list, fmt.Sprintf("INSERT INTO %[1]s (event_id, %[2]s, version, event_type, from_%[3]s, to_%[3]s, transition, actor_role, actor_id, payload, created_at) "+
			"SELECT '99999999-0000-4000-8000-000000000001', %[2]s, version, last_event, '%[4]s', %[3]s, '%[5]s', '%[6]s', %[7]s, '{}', updated_at FROM %[8]s WHERE %[2]s = {%[9]s}",
			m.history, m.id, m.state, stateOf[m.record], m.transition, m.role, m.actor, m.table, m.record))
	}
	return list
}

// stateOf are the states of the fixture's records.
var stateOf = map[string]string{
	"draft": "DRAFT", "offered": "OFFER_PENDING", "accepted": "ACCEPTED", "payable": "AWAITING_PAYMENT", "funded": "FUNDED", "half_cancelled": "FUNDED",
	"submitted": "CREATIVE_SUBMITTED", "approved": "CREATIVE_APPROVED", "disputed": "DISPUTED",
	"unregistered": "unregistered", "validating": "validating", "applied": "registering_consul", "partial": "partial_registered",
}

// sql is an UPDATE as an engine sends it. Of two values of a column the last counts.
func (m move) sql(more ...string) string {
	sets := []string{"version = version + 1", "last_event = '" + m.event + "'", m.state + " = '" + m.to + "'", "entered_at = updated_at"}
	for _, set := range append(slices.Clone(m.sets), more...) {
		i := slices.IndexFunc(sets, func(s string) bool { return column(s) == column(set) })
		if i < 0 {
			sets = append(sets, set)
		} else {
			sets[i] = set
		}
	}
	return fmt.Sprintf("UPDATE %s SET %s WHERE %s = {%s}", m.table, strings.Join(sets, ", "), m.id, m.record)
}

func (m move) writes(c string) bool {
	return slices.ContainsFunc(m.sets, func(s string) bool { return column(s) == c })
}

// but is an attack: the move with something else written.
func (m move) but(name, refused string, sets ...string) Attack {
	return Attack{Name: name, On: Record, Refused: refused, SQL: m.statements(sets...)}
}

func (m move) String() string { return m.event + " on " + m.record }

func column(set string) string {
	name, _, _ := strings.Cut(set, " ")
	return name
}

// moves are at least one for each kind of row: with and without writes, that sets
// literals and fields, that counts, that has rivals.
func moves() []move {
	return []move{
		dealMove("draft", "SUBMIT_OFFER", "OFFER_PENDING").by("submit_offer", "advertiser"),
		dealMove("draft", "CANCEL", "CANCELLED").by("cancel_draft", "advertiser"),
		dealMove("offered", "COUNTER_OFFER", "NEGOTIATING", "price_nano = 90").by("counter_offer", "owner"),
		dealMove("offered", "ACCEPT", "ACCEPTED").by("accept", "owner"),
		dealMove("accepted", "ADDRESS_READY", "AWAITING_PAYMENT", "deposit_address = 'address'").by("address_ready", "system"),
		dealMove("payable", "DEPOSIT_CONFIRMED", "FUNDED", "deposit_tx = 't'", "deposit_nano = 100", "escrow = 'held'").by("fund", "system"),
		dealMove("payable", "EXPIRE", "EXPIRED").by("payment_expired", "system"),
		dealMove("funded", "SUBMIT_DRAFT", "CREATIVE_SUBMITTED", "creative = '{}'", "advertiser_cancels = false", "owner_cancels = false").by("submit_draft", "owner"),
		dealMove("funded", "MUTUAL_CANCEL", "FUNDED", "advertiser_cancels = true").by("consent_by_advertiser", "advertiser"),
		dealMove("funded", "EXPIRE", "EXPIRED", "escrow = 'returned'").by("creative_expired", "system"),
		dealMove("half_cancelled", "MUTUAL_CANCEL", "CANCELLED", "advertiser_cancels = true", "escrow = 'returned'").by("mutual_by_advertiser", "advertiser"),
		dealMove("submitted", "APPROVE", "CREATIVE_APPROVED").by("approve", "advertiser"),
		dealMove("submitted", "DISPUTE", "DISPUTED", "escrow = 'frozen'").by("dispute_quality", "advertiser"),
		dealMove("approved", "SET_PUBLISH_TIME", "SCHEDULED", "publish_at = '2026-03-02T00:00:00.000000Z'").by("schedule", "owner"),
		dealMove("disputed", "RESOLVE_FOR_OWNER", "COMPLETED_RELEASED", "escrow = 'released'").by("resolve_for_owner", "operator"),
		dealMove("disputed", "RESOLVE_FOR_ADVERTISER", "REFUNDED", "escrow = 'returned'").by("resolve_for_advertiser", "operator"),
		registrationMove("validating", "VALIDATION_PASSED", "registering_postgres").by("validation_success", "system"),
		registrationMove("applied", "CONSUL_SUCCEEDED", "registered", "consul_applied = true").by("consul_success", "system"),
		registrationMove("applied", "CONSUL_FAILED", "partial_registered", "consul_applied = false", "consul_error = 'x'", "failed_component = 'consul'").by("consul_failure", "system"),
		registrationMove("partial", "RETRY", "registering_consul", "retry_count = 1").by("retry_consul", "external"),
		registrationMove("partial", "RECOVERY_COMPLETE", "registered", "postgres_applied = true", "consul_applied = true", "consul_error = NULL").by("partial_recovery_success", "system"),
	}
}

// find is the move of that event on that record.
func find(record, event string) move {
	list := moves()
	return list[slices.IndexFunc(list, func(m move) bool { return m.record == record && m.event == event })]
}
