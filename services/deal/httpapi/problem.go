package httpapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/access"
)

// Problem says why a request was not accepted (RFC 9457). Its type is about:blank: Code tells problems
// apart.
type Problem struct {
	Title  string `json:"title"` // that of the status
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   Code   `json:"code"`
	// Rejection is there if the deal refused the event: by which row and clause, and what is legal
	// instead.
	Rejection *fsm.Rejection `json:"rejection,omitempty"`
}

// Code is a kind of problem.
type Code string

// The codes.
const (
	CodeUnauthorized Code = "unauthorized" // 401: no token, or one that is not accepted
	CodeForbidden    Code = "forbidden"    // 403: the caller may not ask for that
	CodeUnknown      Code = "unknown"      // 404: no such deal, or event, or not for the caller
	CodeInvalid      Code = "invalid"      // 400: the request can't be understood
	CodeTooLarge     Code = "too_large"    // 413
	CodeRejected     Code = "rejected"     // 403, 409, 422: the deal refused the event
	CodeChanged      Code = "changed"      // 412: the deal is no longer at the version of If-Match
	CodeConflict     Code = "conflict"     // 409: another event was first
	CodeKeyUsed      Code = "key_used"     // 422: the Idempotency-Key is that of another request
	CodeUnavailable  Code = "unavailable"  // 503: the database does not answer
	CodeInternal     Code = "internal"     // 500
)

// invalid is a request that can't be understood, and says why.
type invalid string

func (i invalid) Error() string { return string(i) }

// refuse answers with the problem that an error is.
func (a api) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	switch {
	case p.Status == http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case p.Status >= http.StatusInternalServerError:
		a.Log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	write(w, p.Status, "application/problem+json", p)
}

// problemOf tells what an error means to a caller, in our own words: what a driver says of statements,
// users and hosts is for the log.
func problemOf(err error) Problem {
	p := Problem{Detail: err.Error()}
	p.Status, p.Code = http.StatusInternalServerError, CodeInternal
	var refused *fsm.Rejection
	var bad invalid
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &refused):
		p.Status, p.Code, p.Rejection = rejected(refused), CodeRejected, refused
	case errors.As(err, &bad):
		p.Status, p.Code, p.Detail = http.StatusBadRequest, CodeInvalid, bad.Error()
	case errors.As(err, &large):
		p.Status, p.Code, p.Detail = http.StatusRequestEntityTooLarge, CodeTooLarge, "the body has too many bytes"
	default:
		p.Status, p.Code, p.Detail = known(err)
	}
	p.Title = http.StatusText(p.Status)
	return p
}

// known are the errors that are values. What it does not know is ours to look at.
func known(err error) (status int, code Code, detail string) {
	for _, k := range []struct {
		err    error
		status int
		code   Code
		detail string // "": the error itself
	}{
		{access.ErrToken, http.StatusUnauthorized, CodeUnauthorized, "a token is needed that is signed for this service and has not expired: Authorization: Bearer TOKEN"},
		{errParty, http.StatusForbidden, CodeForbidden, ""},
		{errUnknown, http.StatusNotFound, CodeUnknown, ""},
		{engine.ErrNotFound, http.StatusNotFound, CodeUnknown, errUnknown.Error()},
		{errEvent, http.StatusNotFound, CodeUnknown, ""},
		{engine.ErrVersion, http.StatusPreconditionFailed, CodeChanged, "the deal has changed since: look at it, and decide again"},
		{engine.ErrKeyUsed, http.StatusUnprocessableEntity, CodeKeyUsed, "the Idempotency-Key was used for another request: take a new one"},
		{engine.ErrConflict, http.StatusConflict, CodeConflict, "another event was first: look at the deal, and decide again"},
		{engine.ErrExists, http.StatusConflict, CodeConflict, "another deal has what is unique in this one"},
		{engine.ErrStore, http.StatusServiceUnavailable, CodeUnavailable, "the database does not answer: try again"},
	} {
		if errors.Is(err, k.err) {
			return k.status, k.code, cmp.Or(k.detail, err.Error())
		}
	}
	return http.StatusInternalServerError, CodeInternal, "the request failed; the log of the service says why"
}

// rejected is the status of a rejection.
func rejected(x *fsm.Rejection) int {
	switch x.Reason {
	case fsm.ErrNotAllowed:
		return http.StatusForbidden
	case fsm.ErrRefused:
		return x.Status
	case fsm.ErrInvalidTransition, fsm.ErrGuardFailed, fsm.ErrHoldsFailed, fsm.ErrImmutable, fsm.ErrExists:
		return http.StatusConflict
	case fsm.ErrInvalidEvent, fsm.ErrOutOfRange, fsm.ErrOverflow:
		return http.StatusUnprocessableEntity
	case fsm.ErrCorrupt:
		return http.StatusInternalServerError
	}
	return http.StatusInternalServerError
}

func write(w http.ResponseWriter, status int, kind string, v any) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // the client went away
}
