// Package prometheus exports the measurements of an engine to Prometheus: the metrics that specs
// declare, with their names, types, labels and buckets, and those of the engine itself.
//
//	metrics, err := prometheus.New(registry, deals, uploads)
//	…
//	engine.New(store, engine.Config{Metrics: metrics.Record}, deals, uploads)
//
// # What it guarantees
//
// A name, label or value that Prometheus refuses never makes the engine fail: the measurement is
// dropped and counted by fsm_measurements_dropped_total. New returns an error if metrics of two
// machines have the same name. Dots in names become underscores, because Prometheus refuses dots.
// Measurements are made after the commit and kept in memory. So a crash may lose the last ones,
// and they start at zero after a restart, as Prometheus expects.
//
// # What it needs
//
// The caller passes the registry; the package has no global one. Every combination of label values
// is a time series, so a label with the id of a record makes one for each record.
//
// # What it must not know
//
// The package does not know what a state, an event or an effect means, or where records are
// stored.
package prometheus
