package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// TestWrongNamesAndIDsAreToldApart: every call that takes the name of a machine or an
// id says which of the two is wrong, so that a service can answer its own caller.
func TestWrongNamesAndIDsAreToldApart(t *testing.T) {
	s := newStage(t)
	ctx, id := t.Context(), fullID("1")
	calls := map[string]func(machine, id string) error{
		"Create": func(machine, id string) error {
			_, err := s.engine.Create(ctx, machine, id, deal.Create{}, engine.Call{})
			return err
		},
		"Fire": func(machine, id string) error {
			_, err := s.engine.Fire(ctx, machine, id, deal.Accept{}, engine.Call{})
			return err
		},
		"FireBatch": func(machine, id string) error {
			outcomes, err := s.engine.FireBatch(ctx, []engine.Firing{{Machine: machine, ID: id, Event: deal.Accept{}}})
			return errors.Join(err, outcomes[0].Err)
		},
		"Get": func(machine, id string) error { _, err := s.engine.Get(ctx, machine, id); return err },
		"Legal": func(machine, id string) error {
			_, _, err := s.engine.Legal(ctx, machine, id, fsm.System())
			return err
		},
		"List":    func(machine, id string) error { _, err := s.engine.List(ctx, machine, "", id, 1); return err },
		"History": func(machine, id string) error { _, err := s.engine.History(ctx, machine, id, 0, 1); return err },
		"Resume": func(machine, id string) error {
			_, err := s.engine.Resume(ctx, machine, id, "ann", "to see")
			return err
		},
	}
	for name, call := range calls {
		if err := call("nothing", id); !errors.Is(err, engine.ErrUnknownMachine) || !strings.Contains(err.Error(), `"nothing"; there are [activate deal`) {
			t.Errorf("%s of an unknown machine: %v", name, err)
		}
		if err := call("deal", "seven"); !errors.Is(err, engine.ErrBadID) || !strings.Contains(err.Error(), `"seven"`) {
			t.Errorf("%s of a bad id: %v", name, err)
		}
	}
	for name, call := range map[string]error{
		"Requeue": s.engine.Requeue(ctx, "seven", "ann", "to see"), "Discard": s.engine.Discard(ctx, "seven", "ann", "to see"),
	} {
		if !errors.Is(call, engine.ErrBadID) || !strings.Contains(call.Error(), `"seven"`) {
			t.Errorf("%s of a bad id: %v", name, call)
		}
	}
}
