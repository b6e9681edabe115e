package storetest

import "testing"

// engineCase is one case of Engine.
type engineCase[Tx any] struct {
	name string
	run  func(f *engineFixture[Tx])
}

// Engine runs an engine on the store. Every sentence of the durable semantics has a case,
// and so has every known bug of other engines. The machines are generated from the specs.
// The cases set the handlers and the clock.
func Engine[Tx any](t *testing.T, open Open[Tx]) {
	for _, group := range []struct {
		name  string
		cases []engineCase[Tx]
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
				t.Run(c.name, func(t *testing.T) { c.run(newEngineFixture(t, open)) })
			}
		})
	}
}
