package registration

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
)

// The headers of the API.
const (
	HeaderKey         = "Idempotency-Key"
	HeaderCorrelation = "X-Correlation-ID"
	HeaderIfMatch     = "If-Match"
	HeaderETag        = "ETag"
)

// maxBody is how many bytes a request may have: a payload and its envelope.
const maxBody = MaxPayload + 4<<10

// Event is an introspection event: what a node registers with.
type Event struct {
	Envelope struct {
		CorrelationID string `json:"correlation_id,omitempty"`
	} `json:"envelope,omitzero"`
	Payload json.RawMessage `json:"payload"`
}

// Condition is what a daemon says of itself to everybody: no host, no user, nothing
// that a driver said. The log has that.
type Condition struct {
	Store  string `json:"store"`  // ok, or the kind of what is wrong
	Consul string `json:"consul"` // ok, none: the daemon works without it, or the kind of what is wrong
}

// triggers are those that carry nothing, by their names in URLs.
var triggers = map[string]registration.Payload{
	"retry": registration.Retry{}, "retry-postgres": registration.RetryPostgres{},
	"abandon": registration.Abandon{}, "deregister": registration.Deregister{},
}

// Handler is the HTTP API of a daemon; metrics answers /metrics.
//
//	POST /v1/nodes/{node}/register, correct                             an Event
//	POST /v1/nodes/{node}/retry, retry-postgres, abandon, deregister    nothing
//	GET  /v1/nodes/{node}/status, history
//	POST /v1/gc                                                         runs the collectors
//	GET  /metrics, /healthz
//
// A trigger that was accepted is answered with an Accepted, anything else with a
// Failure. With an Idempotency-Key a repetition is answered like the first time. A
// status, and what was accepted, has an ETag; with it as If-Match a trigger is accepted
// only if the registration is still as it was then.
func (s *Server) Handler(metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", s.serveHealth)
	mux.HandleFunc("POST /v1/nodes/{node}/{trigger}", s.serveTrigger)
	mux.HandleFunc("GET /v1/nodes/{node}/status", func(w http.ResponseWriter, r *http.Request) {
		status, err := s.Status(r.Context(), r.PathValue("node"))
		if err == nil {
			w.Header().Set(HeaderETag, etag(status.RegistrationID.String(), status.Version))
		}
		s.answer(w, r, status, err)
	})
	mux.HandleFunc("GET /v1/nodes/{node}/history", func(w http.ResponseWriter, r *http.Request) {
		steps, err := s.History(r.Context(), r.PathValue("node"))
		s.answer(w, r, steps, err)
	})
	mux.HandleFunc("POST /v1/gc", func(w http.ResponseWriter, r *http.Request) {
		collected, err := s.GC(r.Context())
		s.answer(w, r, collected, err)
	})
	return mux
}

func (s *Server) serveTrigger(w http.ResponseWriter, r *http.Request) {
	node, name := r.PathValue("node"), r.PathValue("trigger")
	accepted, err := s.trigger(w, r, node, name)
	if accepted.CorrelationID != "" {
		w.Header().Set(HeaderCorrelation, accepted.CorrelationID)
		w.Header().Set(HeaderETag, etag(accepted.RegistrationID, accepted.Version))
	}
	s.answer(w, r, accepted, err)
}

// errUnknownTrigger says that no trigger has the name.
var errUnknownTrigger = errors.New("unknown trigger")

func (s *Server) trigger(w http.ResponseWriter, r *http.Request, node, name string) (Accepted, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			err = ErrTooLarge
		}
		return Accepted{}, err
	}
	c := Call{By: "api", Key: r.Header.Get(HeaderKey), Correlation: r.Header.Get(HeaderCorrelation)}
	if c.Key != "" && !plain(c.Key) {
		return Accepted{}, errKey
	}
	if match := r.Header.Values(HeaderIfMatch); len(match) > 0 {
		if name == "register" {
			return Accepted{}, errMatchRegister
		}
		if c.If, err = parseETag(match); err != nil {
			return Accepted{}, err
		}
	}
	if event, ok := triggers[name]; ok {
		return s.Trigger(r.Context(), node, event, c)
	}
	if name != "register" && name != "correct" {
		return Accepted{}, errUnknownTrigger
	}
	event, err := readEvent(body, &c)
	if err != nil {
		return Accepted{}, err
	}
	if name == "correct" {
		return s.Correct(r.Context(), node, event.Payload, c)
	}
	return s.Register(r.Context(), node, event.Payload, c)
}

var errKey = errors.New("the idempotency key is not a text of 1 to 255 bytes without control characters")

// readEvent reads an event; the correlation id of its envelope counts as that of
// the header, and must be the same where both are given.
func readEvent(body []byte, c *Call) (e Event, err error) {
	if json.Unmarshal(body, &e) != nil {
		return e, errEvent
	}
	if own := e.Envelope.CorrelationID; own != "" {
		if c.Correlation != "" && c.Correlation != own {
			return e, errTwoCorrelations
		}
		c.Correlation = own
	}
	return e, nil
}

var (
	errEvent           = errors.New(`the body is not an event: {"envelope": {"correlation_id": …}, "payload": {…}}`)
	errTwoCorrelations = errors.New("the header and the envelope have different correlation ids")
)

func (s *Server) serveHealth(w http.ResponseWriter, r *http.Request) {
	h := s.Health(r.Context())
	status := http.StatusOK
	if h.Store != ok {
		status = http.StatusServiceUnavailable
	}
	write(w, status, h)
}

const ok = "ok"

// Health asks the store and Consul.
func (s *Server) Health(ctx context.Context) Condition {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	h := Condition{Store: ok, Consul: "none: nodes are registered in the database alone"}
	if _, err := s.lastOf(ctx, "?"); err != nil && !errors.Is(err, ErrUnknownNode) {
		h.Store = "unavailable"
		s.log.WarnContext(ctx, "the store is not available", "error", err)
	}
	if s.Advertises() {
		h.Consul = ok
		if _, err := s.options.Catalog.Names(ctx); err != nil {
			h.Consul = "unavailable: " + errorType(err)
			s.log.WarnContext(ctx, "consul is not available", "error", err)
		}
	}
	return h
}
