package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/client"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/access"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
)

type (
	outcome  = client.Outcome[*deal.Record]
	snapshot = client.Snapshot[*deal.Record]
	taken    = client.Taken[deal.State, deal.Payload]
	verdict  = client.Verdict[deal.Event]
)

// Deals is what the API asks of deals: a *deal.Client.
type Deals interface {
	Create(ctx context.Context, id fsm.UUID, event deal.Create, with ...client.Option) (outcome, error)
	Fire(ctx context.Context, id fsm.UUID, event deal.Payload, with ...client.Option) (outcome, error)
	Get(ctx context.Context, id fsm.UUID) (snapshot, error)
	Legal(ctx context.Context, id fsm.UUID, by client.Option) ([]verdict, snapshot, error)
	History(ctx context.Context, id fsm.UUID, after int64, limit int) ([]taken, error)
}

// Books is what the API asks of the database beside the deals.
type Books interface {
	// Balances returns what the entries of a deal leave on each account.
	Balances(ctx context.Context, deal fsm.UUID) (map[ledger.Account]int64, error)
	// DealsOf returns up to limit deals by ascending id, those after an id: of a party, in a state.
	// party 0 stands for any, and the zero state too.
	DealsOf(ctx context.Context, party int64, state deal.State, after fsm.UUID, limit int) ([]fsm.UUID, error)
}

// Callers says who a token names: *access.Tokens.
type Callers interface {
	Caller(token string) (access.Caller, error)
}

// Addresses reads addresses that users give, and shows them those of deals.
type Addresses interface {
	// Raw returns the form in which records have an address. The error says what is wrong with the text.
	Raw(text string) (string, error)
	// Shown returns the form for who pays to an address: one that does not bounce.
	Shown(raw string) (string, error)
}

// Config says what the API is made of. All fields are needed.
type Config struct {
	Deals     Deals
	Books     Books
	Callers   Callers
	Addresses Addresses
	// Params are those of the engine: they say when a deadline is due.
	Params deal.Params
	// NewID makes the id of a deal.
	NewID func() fsm.UUID
	// Log gets what answers keep to themselves.
	Log *slog.Logger
}

type api struct{ Config }

// New returns the handler of the API.
func New(c Config) http.Handler {
	a := api{c}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/deals", a.handle(a.create))
	mux.HandleFunc("GET /v1/deals", a.handle(a.list))
	mux.HandleFunc("GET /v1/deals/{id}", a.handle(a.show))
	mux.HandleFunc("GET /v1/deals/{id}/history", a.handle(a.history))
	mux.HandleFunc("POST /v1/deals/{id}/{event}", a.handle(a.fire))
	return mux
}

// answer is what a request is answered with.
type answer struct {
	status   int
	version  int64 // of the deal; 0: the answer is not about one version of a deal
	location string
	body     any
}

// handle answers a request whose caller is known.
func (a api) handle(serve func(*http.Request, access.Caller) (answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		who, err := a.caller(r)
		var with answer
		if err == nil {
			with, err = serve(r, who)
		}
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		if with.version > 0 {
			w.Header().Set("ETag", etag(with.version))
		}
		if with.location != "" {
			w.Header().Set("Location", with.location)
		}
		write(w, with.status, "application/json", with.body)
	}
}

func (a api) caller(r *http.Request) (access.Caller, error) {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		return access.Caller{}, access.ErrToken
	}
	return a.Callers.Caller(token)
}

// errUnknown is the answer to a deal that is not there, or not for the caller.
var errUnknown = errors.New("there is no such deal")

// actor is what a caller is in a deal. ok is false if it is nothing.
func actor(c access.Caller, r *deal.Record) (by deal.Actor, ok bool) {
	switch {
	case c.ID == r.AdvertiserID:
		return deal.ByAdvertiser(c.ID), true
	case c.ID == r.OwnerID:
		return deal.ByOwner(c.ID), true
	case c.Administers(r.OwnerID):
		return deal.ByAdmin(c.ID), true
	case c.Operator:
		return deal.ByOperator(c.ID), true
	}
	return deal.Actor{}, false
}

// find returns the deal of a request, and what the caller is in it.
func (a api) find(r *http.Request, who access.Caller) (snapshot, deal.Actor, error) {
	id, err := fsm.ParseUUID(r.PathValue("id"))
	if err != nil {
		return snapshot{}, deal.Actor{}, errUnknown
	}
	found, err := a.Deals.Get(r.Context(), id)
	if err != nil {
		return snapshot{}, deal.Actor{}, err
	}
	by, ok := actor(who, found.Record)
	if !ok {
		return snapshot{}, deal.Actor{}, errUnknown
	}
	return found, by, nil
}
