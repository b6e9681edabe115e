package engine_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// laterPayload is an unpack of a later version, whose check_unpacked says more, or less.
type laterPayload struct {
	engine.Machine[*sql.Tx]
	payload any
}

func (m laterPayload) Create(id string, e fsm.Event, in fsm.Input) (fsm.Decision, error) {
	d, err := m.Machine.Create(id, e, in)
	for i := range d.Steps {
		for j := range d.Steps[i].Effects {
			d.Steps[i].Effects[j].Payload = m.payload
		}
	}
	return d, err
}

// TestThePayloadOfAnotherVersionIsADeadLetter, when no program of that version has claimed
// it in all its attempts: a handler is not called with a part of what was asked for, and
// the record is not told that the effect has failed.
func TestThePayloadOfAnotherVersionIsADeadLetter(t *testing.T) {
	t.Parallel()
	for problem, payload := range map[string]any{
		"deep is not declared": map[string]any{"image_id": "i", "deep": true},
		"image_id is required": map[string]any{},
	} {
		t.Run(problem, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			const repeats = 3
			s.config.Retry = fsm.RetryPolicy{First: time.Second, Factor: 1, Max: time.Second, Attempts: repeats}
			plain := unpack.Define[*sql.Tx](nil, unpack.DefaultParams())
			later, err := engine.New[*sql.Tx](s.store, s.config, laterPayload{plain, payload}, activate.Define[*sql.Tx](nil))
			if err != nil {
				t.Fatal(err)
			}
			o, err := later.Create(t.Context(), "unpack", fullID("1"), unpack.Start{ImageID: "i", LocalPath: "/p", Checksum: "c", PoolName: "pool"}, engine.Call{By: fsm.System()})
			if err != nil {
				t.Fatal(err)
			}
			e, err := engine.New[*sql.Tx](s.store, s.config, plain, activate.Define[*sql.Tx](nil))
			if err != nil {
				t.Fatal(err)
			}
			for range 1 + repeats {
				if got := s.texts("SELECT state FROM fsm_outbox"); got[0] == "dead_letter" {
					t.Fatal("it is given up before its attempts are")
				}
				if n, err := e.Step(t.Context()); err != nil || n != 1 {
					t.Fatalf("%d tasks, %v", n, err)
				}
				s.clock.tick(time.Hour)
			}
			letters, err := e.DeadLetters(t.Context(), engine.Filter{}, "", 0)
			if err != nil || len(letters) != 1 || letters[0].Attempts != 1+repeats || !strings.Contains(letters[0].LastError, problem) ||
				!strings.Contains(letters[0].LastError, "run the version of the machine that asked for it") {
				t.Fatalf("dead letters %+v, %v", letters, err)
			}
			if now, err := e.Get(t.Context(), "unpack", o.ID); err != nil || now.Version != o.Version {
				t.Errorf("the record is at %d, %v", now.Version, err)
			}
		})
	}
}

// submitOffer is an event of another machine that is called as one of deal.
type submitOffer struct{}

func (submitOffer) EventName() string { return "SUBMIT_OFFER" }

// TestAPayloadOfAnotherMachineIsRefused: a payload struct has to be the machine's own, whatever the
// name of its event. An fsm.Event is of any machine that knows its name.
func TestAPayloadOfAnotherMachineIsRefused(t *testing.T) {
	t.Parallel()
	e, end := newDeals(t.Context())
	defer end()
	by := engine.Call{By: deal.ByAdvertiser(7).Caller()}
	_, err := e.Fire(t.Context(), "deal", dealID.String(), submitOffer{}, by)
	var x *fsm.Rejection
	if !errors.As(err, &x) || !errors.Is(err, fsm.ErrInvalidEvent) || x.Field != "payload" ||
		x.Problem != "is of type engine_test.submitOffer, which is no payload of this machine" {
		t.Errorf("the payload of another machine: %v", err)
	}
	if _, err := e.Fire(t.Context(), "deal", dealID.String(), fsm.Event{Name: "SUBMIT_OFFER", Payload: []byte(" {} ")}, by); err != nil {
		t.Errorf("an event by its name: %v", err)
	}
}
