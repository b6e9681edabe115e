package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/access"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
)

// View is a deal as one of its callers sees it.
type View struct {
	Deal    *deal.Record `json:"deal"`
	Version int64        `json:"version"`
	// Since is when the deal entered its state.
	Since time.Time `json:"since"`
	// As is what the caller is in the deal.
	As deal.Role `json:"as"`
	// PayTo is the address that the deal is paid to, as wallets show it; "": it has none yet.
	PayTo string `json:"pay_to,omitempty"`
	// Ledger has the balances of the deal in nano, by account. Their sum is zero.
	Ledger map[ledger.Account]int64 `json:"ledger"`
	// Awaits is what happens if nothing else does; nil: the deal waits for no time.
	Awaits *Awaited `json:"awaits,omitempty"`
	// May says of each event whether the caller may fire it now, and why not.
	May []fsm.Verdict `json:"may"`
}

// Awaited is a deadline.
type Awaited struct {
	Event string    `json:"event"`
	At    time.Time `json:"at"`
}

// show answers with a deal.
func (a api) show(r *http.Request, who access.Caller) (answer, error) {
	found, by, err := a.find(r, who)
	if err != nil {
		return answer{}, err
	}
	verdicts, found, err := a.Deals.Legal(r.Context(), found.Record.DealID, by)
	if err != nil {
		return answer{}, err
	}
	balances, err := a.Books.Balances(r.Context(), found.Record.DealID)
	if err != nil {
		return answer{}, err
	}
	v := View{Deal: found.Record, Version: found.Version, Since: found.EnteredAt, As: by.Role, Ledger: balances, May: make([]fsm.Verdict, 0, len(verdicts))}
	if raw, ok := found.Record.DepositAddress.Get(); ok {
		if v.PayTo, err = a.Addresses.Shown(raw); err != nil {
			return answer{}, err
		}
	}
	if due, ok := deal.DeadlineOf(found.Record, deal.Call{Now: found.EnteredAt, Params: a.Params}); ok {
		v.Awaits = &Awaited{due.Fire.EventName(), due.At}
	}
	for _, each := range verdicts {
		if forCallers(each.Event) {
			v.May = append(v.May, each.Verdict)
		}
	}
	return answer{status: http.StatusOK, version: found.Version, body: v}, nil
}

// Page is a part of a list.
type Page struct {
	Deals []Item `json:"deals"`
	// After is the parameter of the next page; "": there is none.
	After string `json:"after,omitempty"`
}

// Item is a deal in a list.
type Item struct {
	Deal    *deal.Record `json:"deal"`
	Version int64        `json:"version"`
	Since   time.Time    `json:"since"`
}

const (
	usualPage   = 50
	longestPage = 200
)

// list answers with the deals of the caller, of an owner whose channel the caller administers, or, for
// an operator, of everyone.
func (a api) list(r *http.Request, who access.Caller) (answer, error) {
	state, after, limit, err := pageOf(r)
	if err != nil {
		return answer{}, err
	}
	party, err := partyOf(r, who)
	if err != nil {
		return answer{}, err
	}
	ids, err := a.Books.DealsOf(r.Context(), party, state, after, limit)
	if err != nil {
		return answer{}, err
	}
	page := Page{Deals: make([]Item, len(ids))}
	for i, id := range ids {
		found, err := a.Deals.Get(r.Context(), id)
		if err != nil {
			return answer{}, err
		}
		page.Deals[i] = Item{found.Record, found.Version, found.EnteredAt}
	}
	if len(ids) == limit {
		page.After = ids[len(ids)-1].String()
	}
	return answer{status: http.StatusOK, body: page}, nil
}

// partyOf reads whose deals a list asks for. 0: everyone's.
func partyOf(r *http.Request, who access.Caller) (int64, error) {
	text := r.URL.Query().Get("party")
	switch {
	case text == "" && who.Operator:
		return 0, nil
	case text == "":
		return who.ID, nil
	}
	party, err := strconv.ParseInt(text, 10, 64)
	if err != nil || party < 1 {
		return 0, invalid("party is not the number of a user")
	}
	if party != who.ID && !who.Operator && !who.Administers(party) {
		return 0, errParty
	}
	return party, nil
}

// errParty is the answer to who asks for the deals of another user.
var errParty = errors.New("the deals of another user are for that user, admins of the user's channel and operators")

// pageOf reads which deals a list asks for.
func pageOf(r *http.Request) (state deal.State, after fsm.UUID, limit int, err error) {
	query := r.URL.Query()
	if text := query.Get("state"); text != "" {
		if state, err = deal.ParseState(text); err != nil {
			return 0, after, 0, invalid(fmt.Sprintf("%q is no state of a deal", text))
		}
	}
	if text := query.Get("after"); text != "" {
		if after, err = fsm.ParseUUID(text); err != nil {
			return 0, after, 0, invalid("after is not the id of a deal: take it from the page before")
		}
	}
	limit, err = limitOf(query.Get("limit"))
	return state, after, limit, err
}

func limitOf(text string) (int, error) {
	if text == "" {
		return usualPage, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > longestPage {
		return 0, invalid(fmt.Sprintf("limit is not a number from 1 to %d", longestPage))
	}
	return limit, nil
}

// Step is a transition that a deal took.
type Step struct {
	Version    int64     `json:"version"`
	At         time.Time `json:"at"`
	Transition string    `json:"transition"`
	From       string    `json:"from,omitempty"`
	To         string    `json:"to"`
	Event      string    `json:"event"`
	By         string    `json:"by"` // the role
	ID         string    `json:"id,omitempty"`
}

// history answers with the transitions of a deal.
func (a api) history(r *http.Request, who access.Caller) (answer, error) {
	found, _, err := a.find(r, who)
	if err != nil {
		return answer{}, err
	}
	limit, err := limitOf(r.URL.Query().Get("limit"))
	if err != nil {
		return answer{}, err
	}
	after := int64(0)
	if text := r.URL.Query().Get("after"); text != "" {
		if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < 0 {
			return answer{}, invalid("after is not a version: take it from the step before")
		}
	}
	rows, err := a.Deals.History(r.Context(), found.Record.DealID, after, limit)
	if err != nil {
		return answer{}, err
	}
	steps := make([]Step, len(rows))
	for i, row := range rows {
		steps[i] = stepOf(row)
	}
	return answer{status: http.StatusOK, body: map[string]any{"steps": steps}}, nil
}

func stepOf(row taken) Step {
	return Step{
		Version: row.Version, At: row.At, Transition: row.Transition, From: row.Row.From, To: row.Row.To, Event: row.Row.Event,
		By: row.By.Role, ID: row.By.ID,
	}
}
