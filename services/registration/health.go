package registration

import (
	"context"
	"errors"
	"time"

	"github.com/fsmgen/fsmgen/services/registration/database"
)

// Condition is what a daemon says of itself to any caller: no host, no user, nothing
// that a driver said. The log has that.
type Condition struct {
	Store  string `json:"store"`  // ok, or the kind of what is wrong
	Consul string `json:"consul"` // ok, none: the daemon works without it, or the kind of what is wrong
}

// Available is what a Condition says of a store or a Consul that answers.
const Available = "ok"

// Health asks the store and Consul.
func (s *Server) Health(ctx context.Context) Condition {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	h := Condition{Store: Available, Consul: "none: nodes are registered in the database alone"}
	if _, err := s.records.last(ctx, "?"); err != nil && !errors.Is(err, ErrUnknownNode) {
		h.Store = "unavailable"
		s.log.WarnContext(ctx, "the store is not available", "error", err)
	}
	if s.Advertises() {
		h.Consul = Available
		if _, err := s.options.Catalog.Names(ctx); err != nil {
			h.Consul = "unavailable: " + database.ErrorType(err)
			s.log.WarnContext(ctx, "consul is not available", "error", err)
		}
	}
	return h
}
