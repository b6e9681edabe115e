package httpapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/registration"
)

// Code is an error code of document 001, Validation Errors.
type Code string

// The codes that the API answers with. The last two are ours: the document has
// none for a node that is not there, and none for a store that is not.
const (
	CodeValidation        Code = "VALIDATION_ERROR"
	CodeInvalidTransition Code = "INVALID_TRANSITION"
	CodeStateMismatch     Code = "STATE_MISMATCH"
	CodeRetryExhausted    Code = "RETRY_EXHAUSTED"
	CodeGuardFailed       Code = "GUARD_FAILED"
	CodeInternal          Code = "INTERNAL_TRANSITION_ERROR"
	CodeUnknownNode       Code = "UNKNOWN_NODE"
	CodeUnavailable       Code = "UNAVAILABLE"
)

// Failure is the answer to what was not accepted.
type Failure struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// State is where the registration is, if a state stood against the trigger,
	// and Legal are the triggers that it takes there.
	State string   `json:"state,omitempty"`
	Legal []string `json:"legal,omitempty"`
	// Accepted is there with RETRY_EXHAUSTED in partial_registered: the refused
	// retry has led to failed.
	Accepted *registration.Accepted `json:"accepted,omitempty"`
}

// answer sends a result, or the failure that an error is.
func (a *api) answer(w http.ResponseWriter, r *http.Request, result any, err error) {
	if err == nil {
		write(w, http.StatusOK, result)
		return
	}
	status, f := failureOf(err)
	var lost *registration.MatchError
	if errors.As(err, &lost) {
		f.State = lost.State
		w.Header().Set(HeaderETag, etag(lost.Now.RegistrationID, lost.Now.Version))
	}
	if accepted, is := result.(registration.Accepted); is && errors.Is(err, registration.ErrExhausted) {
		f.Accepted, f.State = &accepted, accepted.State
	}
	if status >= http.StatusInternalServerError {
		a.log.ErrorContext(r.Context(), "request failed", "path", r.URL.Path, "error", err, "correlation", r.Header.Get(HeaderCorrelation))
	}
	write(w, status, f)
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // the client went away
}

// failureOf tells what an error means to a caller, in our own words: what a driver
// says of statements, users and hosts is for the log.
func failureOf(err error) (int, Failure) {
	f := Failure{Message: err.Error()}
	var refused *fsm.Rejection
	if errors.As(err, &refused) {
		f.State, f.Legal = refused.State, refused.Legal
		status, code := rejectionOf(refused)
		f.Code = code
		return status, f
	}
	for _, k := range []struct {
		err    error
		status int
		code   Code
		says   string // "": the error itself
	}{
		{registration.ErrExhausted, http.StatusConflict, CodeRetryExhausted, registration.ErrExhausted.Error()},
		{registration.ErrTooLarge, http.StatusRequestEntityTooLarge, CodeValidation, ""},
		{registration.ErrPayload, http.StatusBadRequest, CodeValidation, ""},
		{errEvent, http.StatusBadRequest, CodeValidation, ""},
		{registration.ErrCorrelation, http.StatusBadRequest, CodeValidation, ""},
		{errTwoCorrelations, http.StatusBadRequest, CodeValidation, ""},
		{errKey, http.StatusBadRequest, CodeValidation, ""},
		{errMatch, http.StatusBadRequest, CodeValidation, ""},
		{errMatchRegister, http.StatusBadRequest, CodeValidation, ""},
		{errUnknownTrigger, http.StatusNotFound, CodeInvalidTransition, ""},
		{registration.ErrUnknownNode, http.StatusNotFound, CodeUnknownNode, ""},
		{engine.ErrVersion, http.StatusPreconditionFailed, CodeStateMismatch, ""},
		{engine.ErrStore, http.StatusServiceUnavailable, CodeUnavailable, "the store is not available; the log of the daemon says why"},
		{engine.ErrKeyUsed, http.StatusUnprocessableEntity, CodeValidation, "the idempotency key is that of another trigger"},
		{engine.ErrConflict, http.StatusConflict, CodeStateMismatch, "another trigger was first: look, and decide again"},
		{engine.ErrExists, http.StatusConflict, CodeStateMismatch, "another registration was first: look, and decide again"},
	} {
		if errors.Is(err, k.err) {
			f.Code, f.Message = k.code, cmp.Or(k.says, f.Message)
			return k.status, f
		}
	}
	f.Code, f.Message = CodeInternal, "the step could not be recorded; the log of the daemon says why"
	return http.StatusInternalServerError, f
}

func rejectionOf(x *fsm.Rejection) (int, Code) {
	switch x.Reason {
	case fsm.ErrInvalidTransition, fsm.ErrExists:
		return http.StatusConflict, CodeInvalidTransition
	case fsm.ErrRefused:
		if x.Failure == "retry_exhausted" {
			return x.Status, CodeRetryExhausted
		}
		return x.Status, CodeGuardFailed
	case fsm.ErrGuardFailed, fsm.ErrHoldsFailed:
		return http.StatusConflict, CodeGuardFailed
	case fsm.ErrNotAllowed:
		return http.StatusForbidden, CodeInvalidTransition
	case fsm.ErrInvalidEvent, fsm.ErrOutOfRange, fsm.ErrOverflow, fsm.ErrImmutable:
		return http.StatusBadRequest, CodeValidation
	case fsm.ErrCorrupt:
		return http.StatusInternalServerError, CodeInternal
	}
	return http.StatusInternalServerError, CodeInternal
}
