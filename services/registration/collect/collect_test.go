package collect

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/registration/database"
)

// fakeRows has the rows that are stale, and notes which were collected.
type fakeRows struct {
	Rows
	stale     []database.Stale
	collected []string
}

func (f *fakeRows) Stale(context.Context, time.Time, database.Stale, int) ([]database.Stale, error) {
	return f.stale, nil
}

func (f *fakeRows) Collect(_ context.Context, rows []database.Stale, _ time.Time) (gone []database.Key, err error) {
	for _, row := range rows {
		f.collected = append(f.collected, row.NodeID)
		gone = append(gone, row.Key)
	}
	return gone, nil
}

// fakeRegistrations has records by id, and fails to withdraw some services.
type fakeRegistrations struct {
	Registrations
	records map[string]*registration.Record
	stuck   map[string]bool // by node
	told    []string        // node and event
}

func (f *fakeRegistrations) Record(_ context.Context, id string) (*registration.Record, error) {
	if r, found := f.records[id]; found {
		return r, nil
	}
	return nil, engine.ErrNotFound
}

func (f *fakeRegistrations) Tell(_ context.Context, r *registration.Record, event registration.Payload, _ registration.Actor) error {
	f.told = append(f.told, r.NodeID+" "+event.EventName())
	return nil
}

var errStuck = errors.New("the agent does not answer")

func (f *fakeRegistrations) Unadvertise(_ context.Context, r *registration.Record) error {
	if f.stuck[r.NodeID] {
		return errStuck
	}
	return nil
}

// nothingEnded is an Ended without registrations.
type nothingEnded struct{ Ended }

func (nothingEnded) Remnants(context.Context, time.Time, database.Remnant, int) ([]database.Remnant, error) {
	return nil, nil
}

// TestStaleRowsByState: a stale row is removed if its registration has ended, or is
// unknown, and its service is gone. A registered node is deregistered first, and a
// registration at work keeps its row.
func TestStaleRowsByState(t *testing.T) {
	t.Parallel()
	rows, all := &fakeRows{}, &fakeRegistrations{records: map[string]*registration.Record{}, stuck: map[string]bool{"stuck": true}}
	add := func(n byte, node string, state registration.State, known bool) {
		id := fsm.UUID{n}
		rows.stale = append(rows.stale, database.Stale{Key: database.Key{NodeID: node, RegistrationID: id.String()}})
		if known {
			all.records[id.String()] = &registration.Record{RegistrationID: id, NodeID: node, State: state}
		}
	}
	add(1, "ended", registration.Deregistered, true)
	add(2, "stuck", registration.Deregistered, true)
	add(3, "live", registration.Registered, true)
	add(4, "at work", registration.RegisteringConsul, true)
	add(5, "unknown", registration.Deregistered, false)
	measured := map[string]int{}
	c := &Collectors{
		Limits: Limits{}.WithDefaults(), Rows: rows, Registrations: all, Ended: nothingEnded{},
		Clock: engine.SystemClock{}, Log: slog.New(slog.DiscardHandler),
		Metrics: func(m engine.Metric) { measured[m.Name]++ },
	}
	done, err := c.GC(t.Context())
	if !errors.Is(err, errStuck) || measured[metricDetected] != 4 || measured[metricCleanupFailure] != 1 {
		t.Errorf("%v, and measured %v", err, measured)
	}
	if want := []string{"ended", "unknown"}; !slices.Equal(rows.collected, want) || !slices.Equal(done.Rows, want) {
		t.Errorf("collected %v and said %v, want %v", rows.collected, done.Rows, want)
	}
	if want := []string{"live DEREGISTER"}; !slices.Equal(all.told, want) || !slices.Equal(done.Deregistered, []string{"live"}) {
		t.Errorf("told %v, want %v; deregistered %v", all.told, want, done.Deregistered)
	}
}
