package attacks

import (
	"slices"
	"strings"
)

// recordAttacks are on the record tables.
func recordAttacks() []Attack {
	return slices.Concat(frauds(), wrongColumns(), wrongValues(), wrongSteps(), wrongCreations(), wrongTimes(), freeWrites())
}

// frauds are what an attacker gains by.
func frauds() []Attack {
	consent, cancel, draft := find("funded", "MUTUAL_CANCEL"), find("half_cancelled", "MUTUAL_CANCEL"), find("funded", "SUBMIT_DRAFT")
	cancelFunded := dealMove("funded", "MUTUAL_CANCEL", "CANCELLED")
	deposit, address := find("payable", "DEPOSIT_CONFIRMED"), find("accepted", "ADDRESS_READY")
	payout, refund := find("disputed", "RESOLVE_FOR_OWNER"), find("disputed", "RESOLVE_FOR_ADVERTISER")
	retry, consulFailed := find("partial", "RETRY"), find("applied", "CONSUL_FAILED")
	return []Attack{
		cancelFunded.but("both consents are planted", "step", "advertiser_cancels = true", "owner_cancels = true", "escrow = 'returned'"),
		cancelFunded.but("a deal is cancelled without consent", "refund_needs_both", "escrow = 'returned'"),
		cancel.but("the second consent is left out", "refund_needs_both", "advertiser_cancels = false"),
		consent.but("both consents are given at once", "step", "owner_cancels = true"),
		draft.but("a consent is planted with the creative", "step", "owner_cancels = true"),
		dealMove("half_cancelled", "MUTUAL_CANCEL", "FUNDED").but("the other's consent is taken back", "step", "owner_cancels = false"),
		deposit.but("the deposit is more than the price", "step", "deposit_nano = 99999999999"),
		deposit.but("the price follows the deposit", "step", "deposit_nano = 7", "price_nano = 7"),
		address.but("a deposit comes with the address", "step", "deposit_tx = 't'", "deposit_nano = 99999999999"),
		draft.but("the price changes after the deposit", "step", "price_nano = 1"),
		payout.but("the deposit changes as it is paid out", "immutable", "deposit_nano = 99999999999"),
		payout.but("another owner is paid", "immutable", "owner_id = 9"),
		refund.but("another advertiser is refunded", "immutable", "advertiser_id = 9"),
		find("submitted", "APPROVE").but("another creative is approved", "step", `creative = '{"other":1}'`),
		retry.but("retries are not counted", "step", "retry_count = 0"),
		retry.but("retries are given away", "step", "retry_count = 3"),
		consulFailed.but("the failure of one system is told of the other", "step", "failed_component = 'postgres'"),
		find("validating", "VALIDATION_PASSED").but("a service is exchanged after its validation", "step", "consul_service_id = 'other'"),
	}
}

// wrong are values that no record of the fixture has.
var (
	wrongOfDeals = []string{
		"advertiser_id = 9", "owner_id = 10", "price_nano = 1", "deposit_address = 'mine'", "deposit_tx = 'other'", "deposit_nano = 1",
		`creative = '{"other":1}'`, "publish_at = '2030-01-01T00:00:00.000000Z'", "created_at = '2020-01-01T00:00:00.000000Z'",
		"deal_id = '99999999-0000-4000-8000-000000000000'",
	}
	wrongOfRegistrations = []string{
		"node_id = 'other'", "deployment_id = 'other'", "environment = 'other'", "network_id = 'other'", "consul_service_id = 'other'",
		"consul_service_name = 'other'", `consul_health_check = '{"other":1}'`, `postgres_record = '{"other":1}'`, "validation_error = 'other'",
		"validation_error_type = 'invalid'", "postgres_error = 'other'", "consul_cleanup = 'removed'", "postgres_cleanup = 'removed'",
		"created_at = '2020-01-01T00:00:00.000000Z'",
	}
)

// wrongColumns are moves that write one column more than their rows do.
func wrongColumns() []Attack {
	var list []Attack
	for _, m := range moves() {
		wrong := wrongOfDeals
		if m.table != "deals" {
			wrong = wrongOfRegistrations
		}
		for _, set := range wrong {
			if !m.writes(column(set)) {
				list = append(list, m.but(m.String()+" with "+column(set), "", set))
			}
		}
	}
	return list
}

// wrongValues are moves that write what the row sets, and not its value.
func wrongValues() []Attack {
	var list []Attack
	for _, of := range []struct {
		move  move
		wrong []string
	}{
		{find("payable", "DEPOSIT_CONFIRMED"), []string{"deposit_tx = NULL", "deposit_nano = 1", "deposit_nano = NULL", "escrow = 'none'", "escrow = 'released'"}},
		{find("funded", "SUBMIT_DRAFT"), []string{"creative = NULL", "advertiser_cancels = true", "owner_cancels = true", "escrow = 'released'"}},
		{find("funded", "MUTUAL_CANCEL"), []string{"advertiser_cancels = false", "escrow = 'returned'"}},
		{find("half_cancelled", "MUTUAL_CANCEL"), []string{"owner_cancels = false", "escrow = 'none'", "escrow = 'held'"}},
		{find("funded", "EXPIRE"), []string{"escrow = 'none'", "escrow = 'held'", "advertiser_cancels = true"}},
		{find("submitted", "DISPUTE"), []string{"escrow = 'held'", "escrow = 'returned'", "creative = NULL"}},
		{find("disputed", "RESOLVE_FOR_OWNER"), []string{"escrow = 'frozen'", "escrow = 'returned'"}},
		{find("disputed", "RESOLVE_FOR_ADVERTISER"), []string{"escrow = 'frozen'", "escrow = 'released'"}},
		{find("draft", "CANCEL"), []string{"escrow = 'returned'", "escrow = 'held'"}},
		{find("accepted", "ADDRESS_READY"), []string{"deposit_address = NULL", "deposit_address = ''", "escrow = 'held'"}},
		{find("approved", "SET_PUBLISH_TIME"), []string{"publish_at = NULL", "escrow = 'released'"}},
		{find("applied", "CONSUL_SUCCEEDED"), []string{"consul_applied = false", "postgres_applied = false", "retry_count = 1", "failed_component = 'consul'", "consul_error = 'other'"}},
		{find("applied", "CONSUL_FAILED"), []string{"consul_applied = true", "failed_component = 'postgres'", "failed_component = NULL", "consul_error = NULL", "retry_count = 1"}},
		{find("partial", "RETRY"), []string{"retry_count = 0", "retry_count = 2", "retry_count = 4", "consul_error = NULL", "failed_component = NULL"}},
		{find("partial", "RECOVERY_COMPLETE"), []string{"consul_applied = false", "postgres_applied = false", "consul_error = 'other'", "failed_component = NULL", "retry_count = 1"}},
	} {
		for _, set := range of.wrong {
			list = append(list, of.move.but(of.move.String()+" with "+strings.ToLower(set), "", set))
		}
	}
	return list
}

// wrongSteps are steps that the table lacks, or that a guard of the old record closes.
func wrongSteps() []Attack {
	accepted := dealMove("accepted", "ADDRESS_READY", "AWAITING_PAYMENT", "deposit_address = 'address'")
	return []Attack{
		dealMove("draft", "VERIFICATION_PASSED", "COMPLETED_RELEASED", "escrow = 'released'").but("a draft is completed", "edge"),
		dealMove("funded", "VERIFICATION_PASSED", "COMPLETED_RELEASED", "escrow = 'released'").but("a deal is paid before the work", "edge"),
		dealMove("funded", "SUBMIT_DRAFT", "CREATIVE_APPROVED", "creative = '{}'").but("the review is left out", "edge"),
		dealMove("disputed", "RESOLVE_FOR_OWNER", "REFUNDED", "escrow = 'returned'").but("a decision is turned around", "edge"),
		dealMove("draft", "NO_SUCH_EVENT", "CANCELLED").but("an event that does not exist", "edge"),
		dealMove("draft", "CANCEL", "NO_SUCH_STATE").but("a state that does not exist", ""),
		accepted.but("a version is left out", "version", "version = version + 2"),
		accepted.but("a version is repeated", "version", "version = version"),
		accepted.but("a version goes back", "version", "version = version - 1"),
		registrationMove("partial", "RETRY", "partial_registered").but("the limit of retries is reached at once", "step"),
		registrationMove("partial", "RETRY_EXHAUSTED", "failed").but("retries are exhausted before their limit", "step"),
		registrationMove("partial", "RETRY_POSTGRES", "registering_postgres", "retry_count = 1").but("the wrong side is repeated", "step"),
		registrationMove("validating", "DEREGISTRATION_COMPLETE", "deregistered").but("a registration ends before it began", "edge"),
		registrationMove("unregistered", "REGISTER", "failed", "deployment_id = 'd'", "environment = 'e'", "network_id = 'n'", "consul_service_id = 'c'",
			"consul_service_name = 's'", "postgres_record = '{}'", "validation_error = 'required_data_missing'", "validation_error_type = 'missing'").
			but("a complete payload is turned away as incomplete", "step"),
	}
}

// wrongCreations begin a record as no creation does.
func wrongCreations() []Attack {
	names := "deal_id, status, version, last_event, entered_at, created_at, updated_at, advertiser_id, owner_id, price_nano"
	values := "'99999999-0000-4000-8000-000000000000', 'DRAFT', 1, 'CREATE', '2026-03-01T12:00:00.000000Z', '2026-03-01T12:00:00.000000Z', '2026-03-01T12:00:00.000000Z', 7, 8, 100"
	var list []Attack
	for _, set := range []string{
		"deposit_address = 'mine'", "deposit_tx = 't'", "deposit_nano = 99999999999", "escrow = 'held'", "escrow = 'returned'", "creative = '{}'",
		"publish_at = '2026-03-02T00:00:00.000000Z'", "advertiser_cancels = true", "owner_cancels = true",
	} {
		c, v, _ := strings.Cut(set, " = ")
		list = append(list, Attack{
			Name: "a deal begins with " + strings.ToLower(set), On: Record,
			SQL: []string{"INSERT INTO deals (" + names + ", " + c + ") VALUES (" + values + ", " + v + ")"},
		})
	}
	for _, change := range []struct{ name, from, to string }{
		{"a deal begins as funded", "'DRAFT'", "'FUNDED'"}, {"a deal begins at version 2", "1, 'CREATE'", "2, 'CREATE'"},
		{"a deal begins by another event", "'CREATE'", "'ACCEPT'"}, {"a deal begins without a price", "100", "0"},
		{"a deal of one party", "7, 8", "8, 8"},
	} {
		list = append(list, Attack{Name: change.name, On: Record,
			SQL: []string{"INSERT INTO deals (" + names + ") VALUES (" + strings.Replace(values, change.from, change.to, 1) + ")"}})
	}
	return list
}

// wrongTimes enter a state at another time than the step was taken.
func wrongTimes() []Attack {
	const later = "'2026-03-01T13:00:00.000000Z'"
	refund := dealMove("funded", "DEPOSIT_CONFIRMED", "FUNDED")
	return []Attack{
		find("draft", "SUBMIT_OFFER").but("a state is entered before the step", "step", "updated_at = "+later),
		find("funded", "SUBMIT_DRAFT").but("a deadline is put off", "step", "entered_at = "+later),
		refund.but("a step that stays moves the deadline", "step", "entered_at = "+later, "updated_at = "+later),
		find("approved", "SET_PUBLISH_TIME").but("a record becomes older", "immutable", "created_at = '2020-01-01T00:00:00.000000Z'"),
	}
}

// freeWrites are what the database can't check: it knows neither the event nor who
// fired it.
func freeWrites() []Attack {
	free := func(m move, name, why string, sets ...string) Attack {
		a := m.but(name, "", sets...)
		a.Free = why
		return a
	}
	return []Attack{
		free(find("offered", "COUNTER_OFFER"), "any price is countered", "COUNTER_OFFER brings price_nano", "price_nano = 1"),
		free(find("accepted", "ADDRESS_READY"), "any address is given", "ADDRESS_READY brings deposit_address", "deposit_address = 'mine'"),
		free(find("payable", "DEPOSIT_CONFIRMED"), "a deposit that never came", "fund compares amount_nano, which is not stored"),
		free(find("disputed", "RESOLVE_FOR_OWNER"), "a dispute is decided by anybody", "who fired is what the history row says"),
		free(find("applied", "CONSUL_SUCCEEDED"), "a success that Consul did not tell", "CONSUL_SUCCEEDED brings consul_applied"),
	}
}
