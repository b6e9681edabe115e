package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// ErrNotPaused is returned by Unpause if there is no pause of that scope.
var ErrNotPaused = errors.New("not paused")

// Pause keeps the workers of all processes from starting effects in a scope, and deadlines if the
// scope is a machine. A process that can read the store notices within its PollInterval. What is
// claimed already ends as usual; Create and Fire go on. An effect whose cleanup is in the scope
// waits too. The pause lasts until Unpause, across restarts. The pause keeps who and why; a second
// pause of the same scope replaces them.
//
// Pause returns an error for a scope that no machine of this engine knows.
func (e *Engine[T]) Pause(ctx context.Context, s Scope, who, why string) error {
	if err := checkNested(ctx); err != nil {
		return err
	}
	err := e.checkScope(s)
	if err == nil {
		err = checkReason(who, why)
	}
	if err != nil {
		return fmt.Errorf("pause %s: %w", s, err)
	}
	if err := e.synchronise(ctx); err != nil {
		return fmt.Errorf("pause %s: %w", s, err)
	}
	p := store.Pause{Scope: s, Who: tidy(who), Why: tidy(why), At: e.now()}
	if err := e.store.InTx(ctx, func(tx T) error { return e.store.Pause(ctx, tx, p) }); err != nil {
		return fmt.Errorf("pause %s: %w", s, err)
	}
	e.refreshPauses(ctx)
	return nil
}

// Unpause ends a pause and wakes the workers. It returns ErrNotPaused if there is no pause of
// exactly this scope.
func (e *Engine[T]) Unpause(ctx context.Context, s Scope, who, why string) error {
	if err := checkNested(ctx); err != nil {
		return err
	}
	err := checkReason(who, why)
	if err == nil {
		err = e.store.InTx(ctx, func(tx T) error {
			there, err := e.store.Unpause(ctx, tx, s)
			if err == nil && !there {
				err = ErrNotPaused
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("unpause %s: %w", s, err)
	}
	e.config.Logger.InfoContext(ctx, "unpaused by an operator", append(scopeAttributes(s), "who", who, "why", why)...)
	e.refreshPauses(ctx)
	e.workers.wake()
	return nil
}

// Pauses returns every pause, by machine, effect and destination.
func (e *Engine[T]) Pauses(ctx context.Context) ([]Pause, error) {
	page, err := e.store.Read(ctx, store.Read{Kind: store.ReadPauses})
	if err != nil {
		return nil, fmt.Errorf("pauses: %w", err)
	}
	return page.Pauses, nil
}

// checkScope refuses a scope that this engine does not know.
func (e *Engine[T]) checkScope(s Scope) error {
	if (s.Machine == "") == (s.Destination == "") || s.Machine == "" && s.Effect != "" {
		return errors.New("engine: a scope is a machine, an effect of a machine, or a destination")
	}
	if s.Destination != "" {
		return oneOf("destination", s.Destination, e.wanted.destinationNames())
	}
	if _, err := e.lookup(s.Machine); err != nil || s.Effect == "" {
		return err
	}
	return oneOf("effect for workers", s.Effect, e.wanted.effects(s.Machine))
}

// oneOf returns an error unless a name is in a list.
func oneOf(what, name string, there []string) error {
	if slices.Contains(there, name) {
		return nil
	}
	return fmt.Errorf("engine: there is no %s %q; there are %v", what, name, there)
}

// checkReason refuses an act of an operator without a name or without a reason.
func checkReason(who, why string) error {
	if who == "" || why == "" {
		return errors.New("engine: who and why must not be empty")
	}
	return nil
}

// scopeAttributes returns the attributes of a log line about s.
func scopeAttributes(s Scope) []any {
	return []any{"machine", s.Machine, "effect", s.Effect, "destination", s.Destination}
}
