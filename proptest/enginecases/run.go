package enginecases

import (
	"testing"

	"github.com/fsmgen/fsmgen/proptest/storetest"
)

// testCase is one case.
type testCase[Tx any] struct {
	name string
	run  func(f *fixture[Tx])
}

// Run runs an engine on the store.
func Run[Tx any](t *testing.T, open storetest.Open[Tx]) {
	for _, group := range []struct {
		name  string
		cases []testCase[Tx]
	}{
		{"1_OneEventIsOneTransaction", oneTransaction[Tx]()},
		{"2_TheCallersTransaction", callersTransaction[Tx]()},
		{"3_FiringAgainIsSafe", firingAgain[Tx]()},
		{"4_TwoWriters", twoWriters[Tx]()},
		{"5_DeliveryClasses", deliveryClasses[Tx]()},
		{"6_ResultsAreEvents", resultsAreEvents[Tx]()},
		{"7_DeadlinesAreRows", deadlinesAreRows[Tx]()},
		{"8_ACrashLeavesARecordThatResumes", crashes[Tx]()},
		{"9_TheDatabaseRefuses", databaseRefuses[Tx]()},
		{"10_Correlation", correlation[Tx]()},
		{"11_TransactIsOneTransaction", engineTransactions[Tx]()},
		{"12_IfVersion", onlyAtVersion[Tx]()},
		{"13_AnOperatorActsOnMany", operator[Tx]()},
		{"14_Pauses", pausing[Tx]()},
		{"15_AnOperatorForcesAStep", forcing[Tx]()},
		{"16_AnOperatorCancelsAMessage", cancelling[Tx]()},
		{"17_APoisonousMessageHarmsNoOther", poisonousMessages[Tx]()},
		{"OtherVersions", schemas[Tx]()},
		{"BugsOfOthers", bugsOfOthers[Tx]()},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) { c.run(newFixture(t, open)) })
			}
		})
	}
}
