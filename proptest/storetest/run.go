package storetest

import "testing"

// storeCase is one case of the suite.
type storeCase[Tx any] struct {
	name string
	run  func(f *Fixture[Tx])
}

// Run checks every sentence of the contract of store.Store.
func Run[Tx any](t *testing.T, open Open[Tx]) {
	for _, group := range []struct {
		name  string
		tests []storeCase[Tx]
	}{
		{"Save", saving[Tx]()},
		{"Change", changes[Tx]()},
		{"Refuse", refusing[Tx]()},
		{"SeveralCommits", severalCommits[Tx]()},
		{"Keys", keys[Tx]()},
		{"Outbox", outboxes[Tx]()},
		{"Ordering", orderingKeys[Tx]()},
		{"Parked", parking[Tx]()},
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
					f := NewFixture(t, open)
					f.AllowAnyRows(t)
					test.run(f)
				})
			}
		})
	}
}
