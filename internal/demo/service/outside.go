package service

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Outside stands in for the systems around the service (s3, consul, kafka and so on). Each is a
// folder below Root. It keeps one file for each effect that it has carried out.
type Outside struct {
	Root    string
	Latency time.Duration // of a call
}

// answer says what becomes of an effect outside: the event that it answers, nil for none, or its
// error.
type answer func(ctx context.Context, o Outside, d fsm.Dispatch) (fsm.Payload, error)

// noAnswer is the answer of a machine whose effects all succeed without one.
func noAnswer(context.Context, Outside, fsm.Dispatch) (fsm.Payload, error) { return nil, nil }

// never is a refusal that a repeat would meet again: the message becomes a dead letter, or the
// record hears of it.
func never(format string, args ...any) error {
	return &engine.PermanentError{Err: fmt.Errorf(format, args...)}
}

// mentions reports whether the payload of an effect has a text. The ids of some records say what
// goes wrong with them outside.
func mentions(d fsm.Dispatch, text string) bool { return strings.Contains(string(d.Payload), text) }

// standIn is a machine whose effects are carried out by Outside. The handlers that a generated
// package asks for, one method for each effect, are shown in examples/.
type standIn struct {
	engine.Machine[tx]
	out    Outside
	answer answer
}

// Handle implements engine.Machine.
func (m standIn) Handle(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
	event, err := m.answered(ctx, d)
	if err != nil {
		return nil, err
	}
	for _, info := range m.Effects() {
		if info.Name == d.Effect {
			return event, m.out.carryOut(ctx, info, d)
		}
	}
	return nil, fsm.UnknownEffect(d.Machine, d.Effect)
}

// Query implements engine.Machine.
func (m standIn) Query(ctx context.Context, d fsm.Dispatch) (*fsm.Event, bool, error) {
	if !m.out.has(d.Effect, d.Record, d.ID) {
		return nil, false, nil
	}
	event, err := m.answered(ctx, d)
	return event, err == nil, err
}

func (m standIn) answered(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
	event, err := m.answer(ctx, m.out, d)
	if err != nil || event == nil {
		return nil, err
	}
	return fsm.AnswerOf(event)
}

// HandleTx implements engine.Machine.
func (m standIn) HandleTx(ctx context.Context, tx tx, d fsm.Dispatch) error {
	return book(ctx, tx, d)
}

// carryOut keeps the file of an effect. It takes its time, longest where a killed worker may not
// repeat it. One effect in six fails at first, the same ones in every run. Devices do not fail.
func (o Outside) carryOut(ctx context.Context, info fsm.EffectInfo, d fsm.Dispatch) error {
	latency := o.Latency
	if info.Delivery == fsm.AtMostOnce {
		latency *= 5
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(latency):
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(d.ID))
	if n := h.Sum32(); info.Destination != "devicemapper" && n%6 == 0 && d.Attempt <= int(1+n/6%2) {
		return fmt.Errorf("%s is unavailable", info.Destination)
	}
	return o.put(d.Payload, d.Effect, d.Record, d.ID)
}

// put keeps data, as a whole or not at all. It is idempotent.
func (o Outside) put(data []byte, name ...string) error {
	path := filepath.Join(o.Root, filepath.Join(name...))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".put-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

func (o Outside) has(name ...string) bool {
	_, err := os.Stat(filepath.Join(o.Root, filepath.Join(name...)))
	return err == nil
}
