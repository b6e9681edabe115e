package registration

import (
	"context"
	"encoding/json"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/client"
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

// Status returns the last registration of a node, and looks what is there of it:
// ErrUnknownNode if there never was one.
func (s *Server) Status(ctx context.Context, node string) (Status, error) {
	out, err := s.Recorded(ctx, node)
	if err == nil {
		out.Row, out.Service = s.remains(ctx, &out.Record)
	}
	return out, err
}

// Recorded is Status without a look outside: what the record says.
func (s *Server) Recorded(ctx context.Context, node string) (Status, error) {
	id, err := s.lastOf(ctx, node)
	if err != nil {
		return Status{}, err
	}
	found, err := s.get(ctx, id)
	if err != nil {
		return Status{}, err
	}
	out := Status{Record: *found.Record, Version: found.Version, EnteredAt: found.EnteredAt}
	err = s.db.read(ctx, func(q querier) (err error) {
		if out.CorrelationID, err = correlationOf(ctx, q, id); err != nil {
			return err
		}
		_, err = one(ctx, q, "SELECT daemon FROM registration_daemons WHERE registration_id = $1", []any{id}, &out.Daemon)
		return err
	})
	if err != nil {
		return Status{}, err
	}
	return out, nil
}

// remains looks whether row and service of a registration are there.
func (s *Server) remains(ctx context.Context, r *registration.Record) (row, service *bool) {
	ctx, cancel := context.WithTimeout(ctx, s.options.AttemptTimeout)
	defer cancel()
	if there, err := s.hasRow(ctx, r); err == nil {
		row = &there
	}
	if _, there, err := s.instance(ctx, r); err == nil {
		service = &there
	}
	return row, service
}

// History returns the steps of a node's last registration.
func (s *Server) History(ctx context.Context, node string) (out []Step, err error) {
	id, err := s.lastOf(ctx, node)
	if err != nil {
		return nil, err
	}
	parsed, err := fsm.ParseUUID(id)
	if err != nil {
		return nil, err
	}
	const page = 500
	for after := int64(0); ; {
		rows, err := s.db.records().History(ctx, parsed, after, page)
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

// lastOf is the id of the last registration of a node.
func (s *Server) lastOf(ctx context.Context, node string) (id string, err error) {
	err = s.db.read(ctx, func(q querier) error {
		id, _, err = current(ctx, q, node)
		return err
	})
	if err == nil && id == "" {
		return "", ErrUnknownNode
	}
	return id, err
}

// record reads a registration.
func (s *Server) record(ctx context.Context, id string) (*registration.Record, error) {
	found, err := s.get(ctx, id)
	if err != nil {
		return &registration.Record{}, err
	}
	return found.Record, nil
}

// get reads the registration whose id is text, as SQL has it.
func (s *Server) get(ctx context.Context, id string) (client.Snapshot[*registration.Record], error) {
	parsed, err := fsm.ParseUUID(id)
	if err != nil {
		return client.Snapshot[*registration.Record]{}, err
	}
	return s.db.records().Get(ctx, parsed)
}
