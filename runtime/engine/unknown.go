package engine

import (
	"context"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// mostUnknown is how many kinds of unknown work a worker reports.
const mostUnknown = 100

// watcher reports work that is due and that this process does not know: it waits for
// a process that does.
type watcher[T any] struct {
	engine *Engine[T]
	looked time.Time
	backlog
	told map[store.UnknownWork]bool // without record and count
}

// look measures, once a WatchInterval. If the store fails, it tries again next time.
func (w *watcher[T]) look(ctx context.Context) {
	if time.Since(w.looked) < w.engine.config.WatchInterval {
		return
	}
	w.looked = time.Now()
	e := w.engine
	ctx, cancel := context.WithTimeout(ctx, e.config.StoreTimeout)
	defer cancel()
	e.measureBacklog(ctx, &w.backlog)
	page, err := e.store.Read(ctx, store.Read{
		Kind: store.ReadUnknown, Now: e.now(), Destinations: e.wanted.destinations, Events: e.wanted.events, Limit: mostUnknown,
	})
	if err != nil {
		return
	}
	before := w.told
	w.told = map[store.UnknownWork]bool{}
	for _, u := range page.Unknown {
		name := store.UnknownWork{Kind: u.Kind, Machine: u.Machine, Name: u.Name, State: u.State}
		w.told[name] = true
		delete(before, name)
		e.measureUnknown(u)
		e.config.Logger.WarnContext(ctx, "work is due that this program does not know: run the version of the machine that asked for it",
			"kind", string(u.Kind), "machine", u.Machine, "name", u.Name, "state", u.State, "count", u.Count, "record", u.Record)
	}
	for name := range before { // it is done
		e.measureUnknown(name)
	}
}

// measureUnknown measures how much there is of it.
func (e *Engine[T]) measureUnknown(u store.UnknownWork) {
	e.config.Metrics(Metric{
		Machine: u.Machine, Name: MetricUnknown, Type: "gauge", Value: float64(u.Count), Labels: labels([]string{"kind", string(u.Kind), "name", u.Name, "state", u.State}),
	})
}
