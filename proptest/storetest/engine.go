package storetest

import "testing"

// scene is one question of the engine's exam.
type scene[Tx any] struct {
	name string
	play func(s *stage[Tx])
}

// Engine examines an engine on a store: each sentence of the durable semantics
// has a scene, and so has each bug that others had. The machines are the real
// ones, the handlers do what a scene says, and the clock is the scene's.
func Engine[Tx any](t *testing.T, open Open[Tx]) {
	for _, group := range []struct {
		name   string
		scenes []scene[Tx]
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
		{"11_AUnitIsOneTransaction", units[Tx]()},
		{"12_OnlyAtTheVersionThatTheCallNames", onlyAtVersion[Tx]()},
		{"13_AnOperatorActsOnMany", operator[Tx]()},
		{"14_APauseHolds", pausing[Tx]()},
		{"15_AnOperatorForcesAStep", forcing[Tx]()},
		{"16_AnOperatorCancelsAMessage", cancelling[Tx]()},
		{"17_APoisonousMessageStandsAlone", poisonous[Tx]()},
		{"OtherVersions", schemas[Tx]()},
		{"BugsOfOthers", bugsOfOthers[Tx]()},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, scene := range group.scenes {
				t.Run(scene.name, func(t *testing.T) { scene.play(newStage(t, open)) })
			}
		})
	}
}
