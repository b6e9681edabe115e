package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/proptest/facts"
)

// messages reads the messages, with their payloads in canonical form.
func (run *run[Tx]) messages(ctx context.Context) ([]facts.Message, error) {
	list, err := facts.Messages(ctx, run.subject.DB)
	for i, m := range list {
		list[i].Payload = canonical(json.RawMessage(m.Payload))
	}
	return list, err
}

// deadlines reads the deadlines, with their payloads in canonical form.
func (run *run[Tx]) deadlines(ctx context.Context) ([]facts.Deadline, error) {
	list, err := facts.Deadlines(ctx, run.subject.DB)
	for i, d := range list {
		list[i].Payload = canonical(json.RawMessage(d.Payload))
	}
	return list, err
}

// histories reads the histories of all records.
func (run *run[Tx]) histories(ctx context.Context) (map[place][]facts.Step, error) {
	out := map[place][]facts.Step{}
	for _, r := range run.machines {
		steps, err := facts.Steps(ctx, run.subject.DB, r)
		if err != nil {
			return nil, err
		}
		for _, s := range steps {
			at := place{s.Machine, s.Record}
			out[at] = append(out[at], s)
		}
	}
	return out, nil
}

// dueAt returns when a message can be claimed, or its lease ends; zero: never.
func dueAt(m facts.Message) time.Time {
	if m.State == "delivering" {
		return m.LeaseUntil
	}
	return m.AvailableAt
}

// firesAt returns when a deadline can be claimed.
func firesAt(d facts.Deadline) time.Time {
	if d.LeaseUntil.After(d.DueAt) {
		return d.LeaseUntil
	}
	return d.DueAt
}

// nameOf identifies a deadline among those of other steps.
func nameOf(d facts.Deadline) string {
	return fmt.Sprint(d.Machine, " ", d.Record, " ", d.Kind, " ", d.Version)
}
