// Package prometheus shows what an engine measures to Prometheus: the metrics
// that the specs declare, by their names, types, labels and buckets, and those
// of the engine itself.
//
//	metrics, err := prometheus.New(registry, deals, uploads)
//	…
//	engine.New(store, engine.Config{Metrics: metrics.Record}, deals, uploads)
//
// # What it guarantees
//
// A name, a label or a value that Prometheus does not take never disturbs the
// engine: the measurement is dropped and counted by
// fsm_measurements_dropped_total. Two machines whose metrics would share a name
// are found by New. Dots, which Prometheus does not take, become underscores.
// Measurements follow the commit and are kept in memory: a crash may lose the
// last ones, and a restart begins at zero, as Prometheus expects.
//
// # What it needs
//
// A registry, given by the caller: nothing here is global. Every combination of
// label values is a time series of its own: a spec that labels by a record's id
// asks for one a record.
//
// # What it must not know
//
// What a state, an event or an effect means, or where records are stored.
package prometheus
