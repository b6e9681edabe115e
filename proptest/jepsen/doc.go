// Package jepsen is a test harness that looks for faults around transactions, in
// the way of Jepsen. Workers and a loader are processes of their own on one
// database. The outside world keeps books of its own. A nemesis kills, stops and
// cuts off. A checker then compares the database, read by SQL, with the table,
// read as YAML, and with the books. It shares no code with the engine.
//
// The machine is spec/payment.yaml. All code of the harness is in its tests.
package jepsen

//go:generate go run ../../cmd/fsmgen generate spec --out generated
