package storetest

import "testing"

// test is one question of the exam.
type test[Tx any] struct {
	name string
	ask  func(b *bench[Tx])
}

// Run examines a store: every sentence of engine.Store's contract.
func Run[Tx any](t *testing.T, open Open[Tx]) {
	for _, group := range []struct {
		name  string
		tests []test[Tx]
	}{
		{"Save", saving[Tx]()},
		{"Change", changes[Tx]()},
		{"Refuse", refusing[Tx]()},
		{"Together", together[Tx]()},
		{"Keys", keys[Tx]()},
		{"Outbox", outboxes[Tx]()},
		{"Lanes", lanes[Tx]()},
		{"Parking", parking[Tx]()},
		{"Lease", leases[Tx]()},
		{"Suspects", suspects[Tx]()},
		{"States", states[Tx]()},
		{"Deadlines", deadlines[Tx]()},
		{"Transactions", transactions[Tx]()},
		{"Read", reads[Tx]()},
		{"Migrate", migrations[Tx]()},
		{"Pauses", pauses[Tx]()},
		{"Race", races[Tx]()},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, test := range group.tests {
				t.Run(test.name, func(t *testing.T) {
					b := newBench(t, open)
					b.Unjudged(t)
					test.ask(b)
				})
			}
		})
	}
}
