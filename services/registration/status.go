package registration

import (
	"context"
	"encoding/json"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Status is what is known of a node's last registration.
type Status struct {
	registration.Record
	Version       int64     `json:"version"`
	EnteredAt     time.Time `json:"entered_at"` // when the state was entered
	CorrelationID string    `json:"correlation_id"`
	Daemon        string    `json:"daemon"` // which heartbeats for the node
	// Row says whether the node has its row, Service whether Consul advertises
	// it: as they are now. Nil: could not be found out.
	Row     *bool `json:"row"`
	Service *bool `json:"service"`
}

// Step is one transition of a registration.
type Step struct {
	Version       int64           `json:"version"`
	Transition    string          `json:"transition"`
	From          string          `json:"from,omitempty"`
	Event         string          `json:"event"`
	To            string          `json:"to"`
	By            string          `json:"by"`
	Payload       json.RawMessage `json:"payload,omitempty"`
	CorrelationID string          `json:"correlation_id"`
	At            time.Time       `json:"at"`
}

// reader tells what is known of nodes.
type reader struct {
	records    *records
	advertiser *advertiser
}

// Status returns the last registration of a node, and looks what is there of it:
// ErrUnknownNode if there never was one.
func (r *reader) Status(ctx context.Context, node string) (Status, error) {
	out, err := r.Recorded(ctx, node)
	if err == nil {
		out.Row, out.Service = r.advertiser.remains(ctx, &out.Record)
	}
	return out, err
}

// Recorded is Status without a look outside: what the record says.
func (r *reader) Recorded(ctx context.Context, node string) (Status, error) {
	id, err := r.records.last(ctx, node)
	if err != nil {
		return Status{}, err
	}
	found, err := r.records.get(ctx, id)
	if err != nil {
		return Status{}, err
	}
	out := Status{Record: *found.Record, Version: found.Version, EnteredAt: found.EnteredAt}
	if out.CorrelationID, err = r.records.db.Correlation(ctx, id); err != nil {
		return Status{}, err
	}
	if out.Daemon, err = r.records.db.Daemon(ctx, id); err != nil {
		return Status{}, err
	}
	return out, nil
}

// History returns the steps of a node's last registration.
func (r *reader) History(ctx context.Context, node string) (out []Step, err error) {
	id, err := r.records.last(ctx, node)
	if err != nil {
		return nil, err
	}
	parsed, err := fsm.ParseUUID(id)
	if err != nil {
		return nil, err
	}
	const page = 500
	for after := int64(0); ; {
		rows, err := r.records.db.Records().History(ctx, parsed, after, page)
		if err != nil {
			return nil, err
		}
		for _, taken := range rows {
			h := taken.Row // as it is stored: other versions of the table have had other words
			by := h.By.Role
			if h.By.ID != "" {
				by += " " + h.By.ID
			}
			out = append(out, Step{h.Version, h.Transition, h.From, h.Event, h.To, by, h.Payload, h.Correlation, h.At})
			after = h.Version
		}
		if len(rows) < page {
			return out, nil
		}
	}
}
