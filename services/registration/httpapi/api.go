// Package httpapi is the HTTP API of a registration daemon: it turns requests into
// calls of the service, and what they return into answers.
package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/services/registration"
)

// Service is what the API asks of the service: a *registration.Server.
type Service interface {
	Register(ctx context.Context, node string, payload json.RawMessage, c registration.Call) (registration.Accepted, error)
	Correct(ctx context.Context, node string, payload json.RawMessage, c registration.Call) (registration.Accepted, error)
	Trigger(ctx context.Context, node string, event machine.Payload, c registration.Call) (registration.Accepted, error)
	Status(ctx context.Context, node string) (registration.Status, error)
	History(ctx context.Context, node string) ([]registration.Step, error)
	GC(ctx context.Context) (registration.Collected, error)
	Health(ctx context.Context) registration.Condition
}

// The headers of the API.
const (
	HeaderKey         = "Idempotency-Key"
	HeaderCorrelation = "X-Correlation-ID"
	HeaderIfMatch     = "If-Match"
	HeaderETag        = "ETag"
)

// maxBody is how many bytes a request may have: a payload and its envelope.
const maxBody = registration.MaxPayload + 4<<10

// Event is an introspection event: what a node registers with.
type Event struct {
	Envelope struct {
		CorrelationID string `json:"correlation_id,omitempty"`
	} `json:"envelope,omitzero"`
	Payload json.RawMessage `json:"payload"`
}

// triggers are those that carry nothing, by their names in URLs.
var triggers = map[string]machine.Payload{
	"retry": machine.Retry{}, "retry-postgres": machine.RetryPostgres{},
	"abandon": machine.Abandon{}, "deregister": machine.Deregister{},
}

type api struct {
	service Service
	log     *slog.Logger
}

// New returns the HTTP API of a service; metrics answers /metrics, and the log gets what
// answers keep to themselves.
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
func New(service Service, metrics http.Handler, log *slog.Logger) http.Handler {
	a := &api{service, log}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", a.serveHealth)
	mux.HandleFunc("POST /v1/nodes/{node}/{trigger}", a.serveTrigger)
	mux.HandleFunc("GET /v1/nodes/{node}/status", func(w http.ResponseWriter, r *http.Request) {
		status, err := service.Status(r.Context(), r.PathValue("node"))
		if err == nil {
			w.Header().Set(HeaderETag, etag(status.RegistrationID.String(), status.Version))
		}
		a.answer(w, r, status, err)
	})
	mux.HandleFunc("GET /v1/nodes/{node}/history", func(w http.ResponseWriter, r *http.Request) {
		steps, err := service.History(r.Context(), r.PathValue("node"))
		a.answer(w, r, steps, err)
	})
	mux.HandleFunc("POST /v1/gc", func(w http.ResponseWriter, r *http.Request) {
		collected, err := service.GC(r.Context())
		a.answer(w, r, collected, err)
	})
	return mux
}

func (a *api) serveTrigger(w http.ResponseWriter, r *http.Request) {
	node, name := r.PathValue("node"), r.PathValue("trigger")
	accepted, err := a.trigger(w, r, node, name)
	if accepted.CorrelationID != "" {
		w.Header().Set(HeaderCorrelation, accepted.CorrelationID)
		w.Header().Set(HeaderETag, etag(accepted.RegistrationID, accepted.Version))
	}
	a.answer(w, r, accepted, err)
}

// errUnknownTrigger says that no trigger has the name.
var errUnknownTrigger = errors.New("unknown trigger")

func (a *api) trigger(w http.ResponseWriter, r *http.Request, node, name string) (registration.Accepted, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			err = registration.ErrTooLarge
		}
		return registration.Accepted{}, err
	}
	c := registration.Call{By: "api", Key: r.Header.Get(HeaderKey), Correlation: r.Header.Get(HeaderCorrelation)}
	if c.Key != "" && !registration.Plain(c.Key) {
		return registration.Accepted{}, errKey
	}
	if match := r.Header.Values(HeaderIfMatch); len(match) > 0 {
		if name == "register" {
			return registration.Accepted{}, errMatchRegister
		}
		if c.If, err = parseETag(match); err != nil {
			return registration.Accepted{}, err
		}
	}
	if event, ok := triggers[name]; ok {
		return a.service.Trigger(r.Context(), node, event, c)
	}
	if name != "register" && name != "correct" {
		return registration.Accepted{}, errUnknownTrigger
	}
	event, err := readEvent(body, &c)
	if err != nil {
		return registration.Accepted{}, err
	}
	if name == "correct" {
		return a.service.Correct(r.Context(), node, event.Payload, c)
	}
	return a.service.Register(r.Context(), node, event.Payload, c)
}

var errKey = errors.New("the idempotency key is not a text of 1 to 255 bytes without control characters")

// readEvent reads an event; the correlation id of its envelope counts as that of
// the header, and must be the same where both are given.
func readEvent(body []byte, c *registration.Call) (e Event, err error) {
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

func (a *api) serveHealth(w http.ResponseWriter, r *http.Request) {
	h := a.service.Health(r.Context())
	status := http.StatusOK
	if h.Store != registration.Available {
		status = http.StatusServiceUnavailable
	}
	write(w, status, h)
}
