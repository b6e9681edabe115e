package simulate

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/gc"
	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/generated/publish"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/generated/upload"
	"github.com/fsmgen/fsmgen/generated/wal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// allMachines returns the generated machines. Their handlers are those of simulated.
func allMachines[Tx any]() []engine.Machine[Tx] {
	return []engine.Machine[Tx]{
		activate.Define[Tx](nil),
		deal.Define[Tx](nil, deal.DefaultParams()),
		download.Define[Tx](nil, download.DefaultParams()),
		gc.Define[Tx](nil, gc.DefaultParams()),
		outbox.Define[Tx](nil, outbox.DefaultParams()),
		publish.Define[Tx](nil),
		registration.Define[Tx](nil, registration.DefaultParams()),
		transfer.Define[Tx](nil, transfer.DefaultParams()),
		unpack.Define[Tx](nil, unpack.DefaultParams()),
		upload.Define[Tx](nil),
		wal.Define[Tx](nil, wal.DefaultParams()),
	}
}

// groups are the machines that run together, since one starts another.
var groups = [...][]string{
	{"deal", "transfer"}, {"registration"}, {"wal"}, {"upload"}, {"publish"}, {"gc"}, {"outbox"}, {"download", "unpack", "activate"},
}

// machine is a machine of a run with its table.
type machine[Tx any] struct {
	engine.Machine[Tx]
	table *ir.Machine
}

// ended reports whether no transition leaves the state of a record.
func (r machine[Tx]) ended(record fsm.Record) bool {
	return slices.ContainsFunc(r.table.States, func(s *ir.State) bool { return s.Text == record.StateName() && s.Terminal })
}

// chooseMachines chooses the machines of a run: a few groups, in the order of
// allMachines.
func chooseMachines[Tx any](r *rng, tables []*ir.Machine) ([]machine[Tx], error) {
	var names []string
	for range 1 + r.below(3) {
		names = append(names, oneOf(r, groups[:])...)
	}
	var machines []machine[Tx]
	for _, m := range allMachines[Tx]() {
		if !slices.Contains(names, m.Name()) {
			continue
		}
		i := slices.IndexFunc(tables, func(t *ir.Machine) bool { return t.Text == m.Name() })
		if i < 0 {
			return nil, fmt.Errorf("no table of machine %s", m.Name())
		}
		machines = append(machines, machine[Tx]{m, tables[i]})
	}
	return machines, nil
}

// event returns an event of the table by its name.
func event(table *ir.Machine, name string) (*ir.Event, bool) {
	i := slices.IndexFunc(table.Events, func(e *ir.Event) bool { return e.Text == name })
	if i < 0 {
		return nil, false
	}
	return table.Events[i], true
}
