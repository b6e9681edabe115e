package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// asking is the step that asks for an effect.
type asking[T any] struct {
	request request[T]
	step    fsm.Step
	eventID fsm.UUID // of the step's history row
	version int64
	seq     int // its place among the effects of the transition, metrics left out
}

// id derives an id from the random id of the history row, and not from the version: after the
// database has lost commits, a version can be reached a second time.
func (at asking[T]) id(purpose string) fsm.UUID {
	return identity(purpose, at.eventID.String(), strconv.Itoa(at.seq))
}

// txCall is an effect whose delivery is transaction.
type txCall[T any] struct {
	machine  *definition[T]
	dispatch fsm.Dispatch
}

// addEffect adds an effect to the writes of c, the outbox, the calls inside the transaction, the
// records to start, or what follows the commit, by its kind and delivery.
func (e *Engine[T]) addEffect(p *plan[T], c *store.Commit, at asking[T], effect fsm.Effect) ([]start[T], error) {
	m := at.request.machine
	info, ok := m.effects[effect.Name]
	if !ok {
		return nil, fsm.UnknownEffect(m.Name(), effect.Name)
	}
	switch info.Kind {
	case fsm.EffectCall:
		return nil, addCall(p, c, at, effect, info)
	case fsm.EffectUpsert, fsm.EffectUpdate, fsm.EffectDelete:
		write, err := m.TableWrite(effect)
		if err != nil {
			return nil, fmt.Errorf("effect %s: %w", effect.Name, err)
		}
		c.Writes = append(c.Writes, write)
	case fsm.EffectStart:
		asked, err := m.StartOf(effect)
		if err != nil {
			return nil, fmt.Errorf("effect %s: %w", effect.Name, err)
		}
		target, err := e.lookup(asked.Machine)
		if err != nil {
			return nil, err
		}
		return []start[T]{{machine: target, id: at.id("start").String(), event: asked.Event}}, nil
	case fsm.EffectLog:
		pendingOf(&p.outcome).then(e.tellLog(at, effect, info))
	case fsm.EffectMetric:
		pendingOf(&p.outcome).then(e.tellMetric(at, effect, info))
	}
	return nil, nil
}

// addCall adds an effect that a handler carries out.
func addCall[T any](p *plan[T], c *store.Commit, at asking[T], effect fsm.Effect, info fsm.EffectInfo) error {
	r := at.request
	payload, err := json.Marshal(effect.Payload)
	if err != nil {
		return fmt.Errorf("payload of effect %s: %w", effect.Name, err)
	}
	m := store.OutboxMessage{
		MessageID: at.id("message").String(), Machine: c.Machine, RecordID: r.id, Version: at.version, Seq: at.seq,
		Effect: effect.Name, Destination: info.Destination, Delivery: info.Delivery, Work: info.Work, Payload: payload,
		RecordState: at.step.To, Correlation: r.correlation, CreatedAt: r.now, MessageState: pendingState(r.now),
	}
	if m.Destination == "" {
		m.Destination = effect.Name
	}
	if info.Delivery.InStep() {
		p.calls = append(p.calls, txCall[T]{r.machine, dispatchOf(m, 1)})
		return nil
	}
	c.Outbox = append(c.Outbox, m)
	return nil
}

// tellLog returns the log line of an effect.
func (e *Engine[T]) tellLog(at asking[T], effect fsm.Effect, info fsm.EffectInfo) func(context.Context) {
	level, _ := logLevel(info.Level) // New has refused a machine with another
	message := info.Message
	if message == "" {
		message = effect.Name
	}
	return func(ctx context.Context) {
		e.config.Logger.Log(ctx, level, message, "machine", at.request.machine.Name(), "record", at.request.id,
			"effect", effect.Name, "payload", effect.Payload, "correlation", at.request.correlation)
	}
}

// LevelCritical is the level of a log effect that a spec calls CRITICAL.
const LevelCritical = slog.LevelError + 4

// logLevel returns the level of a log effect, and whether name is one.
func logLevel(name string) (level slog.Level, known bool) {
	switch name {
	case "DEBUG":
		return slog.LevelDebug, true
	case "INFO":
		return slog.LevelInfo, true
	case "WARNING":
		return slog.LevelWarn, true
	case "ERROR":
		return slog.LevelError, true
	case "CRITICAL":
		return LevelCritical, true
	}
	return 0, false
}

// tellMetric returns the measurement of an effect.
func (e *Engine[T]) tellMetric(at asking[T], effect fsm.Effect, info fsm.EffectInfo) func(context.Context) {
	m, _ := effect.Payload.(fsm.Measurement)
	return func(context.Context) {
		e.config.Metrics(Metric{
			Machine: at.request.machine.Name(), Name: effect.Name, Type: info.Metric,
			Value: m.Value, Labels: m.Labels, Buckets: info.Buckets,
		})
	}
}

// dispatchOf returns m on its way to a handler.
func dispatchOf(m OutboxMessage, attempt int64) fsm.Dispatch {
	return fsm.Dispatch{
		ID: m.MessageID, Machine: m.Machine, Record: m.RecordID, Effect: m.Effect, Version: m.Version, At: m.CreatedAt,
		Attempt: int(attempt), Correlation: m.Correlation, Payload: m.Payload,
	}
}
