package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/internal/groupcommit"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// Engine fires events at the records of its machines and carries out their effects and deadlines.
// Any number of engines, in any number of processes, can share a store. An Engine is safe for
// concurrent use. It holds no lock while user code runs.
type Engine[T any] struct {
	store       store.Store[T]
	config      Config
	machines    map[string]*definition[T] // never written after New
	inlines     bool                      // Inline names something
	wanted      wanted                    // what its workers claim where nothing is paused
	pauses      pauses
	settlements groupcommit.Queue[place, *store.Settlement]
	firings     groupcommit.Queue[place, *firing[T]]
	workers     workerSet[T]
	suspects    suspects

	destinations *destinations
	storeClock   *storeClock // nil: the clock is not the store's
}

// definition is a machine with its tables.
type definition[T any] struct {
	Machine[T]
	tables   fsm.Tables
	effects  map[string]fsm.EffectInfo
	observed map[fsm.Observed][]fsm.EffectInfo // metrics that no step lists
	hasWork  bool                              // some effect belongs to the state that asks for it
	inline   map[string]InlineFunc[T]          // of effects that are carried out within the transaction
}

// New returns an engine. It does not touch the database: call Migrate, then fire events, and call
// Run in at least one process.
func New[T any](s store.Store[T], c Config, machines ...Machine[T]) (*Engine[T], error) {
	c = c.WithDefaults()
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("engine configuration: %w", err)
	}
	if s == nil {
		return nil, errors.New("engine: a store is needed")
	}
	e := &Engine[T]{store: s, config: c, machines: map[string]*definition[T]{}}
	_, local := c.Clock.(LocalClock)
	if teller, ok := s.(store.TimeTeller); ok && local {
		e.storeClock = &storeClock{local: c.Clock, teller: teller}
		e.config.Clock = e.storeClock
	}
	for _, m := range machines {
		if _, twice := e.machines[m.Name()]; twice {
			return nil, fmt.Errorf("engine: machine %s is given twice", m.Name())
		}
		e.machines[m.Name()] = define(m)
	}
	for _, name := range e.names() {
		m := e.machines[name]
		e.wanted.add(name, m.Effects(), m.Transitions(), m.Timeouts(), m.States())
	}
	e.destinations = newDestinations(e.wanted.destinations, e.config)
	if err := e.destinations.checkLimits(c.Limits); err != nil {
		return nil, err
	}
	return e, e.checkStarts()
}

func define[T any](m Machine[T]) *definition[T] {
	d := &definition[T]{
		Machine: m, tables: m.Tables(), effects: map[string]fsm.EffectInfo{}, inline: map[string]InlineFunc[T]{}, observed: map[fsm.Observed][]fsm.EffectInfo{},
	}
	for _, info := range m.Effects() {
		d.effects[info.Name] = info
		d.hasWork = d.hasWork || info.Work
		d.observed[info.Of] = append(d.observed[info.Of], info)
	}
	return d
}

// checkStarts makes sure that every machine that another starts is here too:
// both are written in one transaction.
func (e *Engine[T]) checkStarts() error {
	for _, name := range e.names() {
		for _, info := range e.machines[name].Effects() {
			if info.Kind == fsm.EffectStart && e.machines[info.Machine] == nil {
				return fmt.Errorf("engine: machine %s starts machine %s by %s, which is not given", name, info.Machine, info.Name)
			}
		}
	}
	return nil
}

// names returns the machines, sorted.
func (e *Engine[T]) names() []string { return slices.Sorted(maps.Keys(e.machines)) }

// Migrate creates or updates the engine's tables and creates those of its machines. If the
// database has other functions or triggers for a machine than this program was generated with,
// Migrate does the rest and returns a *DriftError. If a later version of the machine was deployed,
// it only logs that.
func (e *Engine[T]) Migrate(ctx context.Context) error {
	if err := checkNested(ctx); err != nil {
		return err
	}
	var machines []store.Machine
	for _, name := range e.names() {
		machines = append(machines, e.machines[name].Machine)
	}
	if err := e.synchronise(ctx); err != nil {
		return err
	}
	return e.tellDrift(ctx, e.store.Migrate(ctx, machines))
}

// machine looks a machine up and reads the id of one of its records. The error is
// ErrUnknownMachine or ErrBadID.
func (e *Engine[T]) machine(name, id string) (m *definition[T], key any, err error) {
	if m, err = e.lookup(name); err != nil {
		return nil, nil, err
	}
	parsed, err := m.ParseID(id)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w %q: %w", name, ErrBadID, id, err)
	}
	return m, fsm.Plain(parsed), nil
}

func (e *Engine[T]) lookup(name string) (*definition[T], error) {
	if m := e.machines[name]; m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("engine: %w: %q; there are %v", ErrUnknownMachine, name, e.names())
}

// now returns the time for decisions and rows.
func (e *Engine[T]) now() time.Time { return fsm.Instant(e.config.Clock.Now()) }
