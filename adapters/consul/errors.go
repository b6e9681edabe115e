package consul

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/consul/api"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// Error is returned when a call fails. errors.Is finds its kind and its cause.
type Error struct {
	Attempt string // the call: register service "api-1"
	Kind    error  // one of the errors of package discovery
	Status  int    // the HTTP status of the answer; 0: there was none
	Advice  string // what to do
	Err     error  // the cause
}

func (e *Error) Error() string {
	return fmt.Sprintf("consul: %s: %v: %s: %v", e.Attempt, e.Kind, e.Advice, e.Err)
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Err} }

func invalid(attempt string, err error) *Error {
	return &Error{Attempt: attempt, Kind: discovery.ErrInvalid, Advice: adviceInvalid, Err: err}
}

const (
	adviceRefused     = "start the agent, or correct its address"
	adviceUnreachable = "check the agent and the network to it; the request may have been carried out"
	adviceUntrusted   = "give the client the CA that signed the agent's certificate, and the agent's name"
	adviceCertificate = "give the client a certificate that the agent trusts"
	adviceToken       = "give the client a token with the permissions that it needs"
	adviceServer      = "read the agent's log, and call again when it works"
	adviceNoConsul    = "correct the address: it is not that of a Consul agent"
	adviceInvalid     = "correct the request"
	adviceRegister    = "register it again"
)

// classify returns the *Error for an error of the library.
func classify(ctx context.Context, attempt string, err error) *Error {
	e := &Error{Attempt: attempt, Kind: discovery.ErrUnreachable, Advice: adviceUnreachable, Err: err}
	var answer api.StatusError
	var untrusted *tls.CertificateVerificationError
	switch ended := context.Cause(ctx); {
	case ended != nil:
		if !errors.Is(err, ended) {
			e.Err = fmt.Errorf("%w: %w", ended, err)
		}
	case errors.As(err, &answer):
		e.classifyAnswer(answer)
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Kind, e.Advice = discovery.ErrRefused, adviceRefused
	case errors.As(err, &untrusted):
		e.Advice = adviceUntrusted
	case strings.Contains(err.Error(), "remote error: tls"):
		e.Kind, e.Advice = discovery.ErrNotPermitted, adviceCertificate
	case garbled(err):
		e.Kind, e.Advice = discovery.ErrServer, adviceNoConsul
	}
	return e
}

func (e *Error) classifyAnswer(answer api.StatusError) {
	e.Status = answer.Code
	e.Err = fmt.Errorf("status %d: %.200q", answer.Code, answer.Body)
	switch {
	case unknown(answer):
		e.Kind, e.Advice = discovery.ErrNotAdvertised, adviceRegister
	case denied(answer):
		e.Kind, e.Advice = discovery.ErrNotPermitted, adviceToken
	case answer.Code >= 300 && answer.Code < 400 || answer.Code == http.StatusNotFound:
		e.Kind, e.Advice = discovery.ErrServer, adviceNoConsul
	case answer.Code >= http.StatusInternalServerError || answer.Code == http.StatusTooManyRequests || answer.Code == http.StatusRequestTimeout:
		e.Kind, e.Advice = discovery.ErrServer, adviceServer
	default:
		e.Kind, e.Advice = discovery.ErrInvalid, adviceInvalid
	}
}

// unknown reports whether Consul answered that a service or check does not exist: with 404, or with
// 500 in older versions. A 404 with another text is the answer of another server, and does not prove
// that.
func unknown(answer api.StatusError) bool {
	if answer.Code != http.StatusNotFound && answer.Code != http.StatusInternalServerError {
		return false
	}
	body := strings.ToLower(answer.Body)
	return strings.HasPrefix(body, "unknown service ") || strings.HasPrefix(body, "unknown check ") ||
		strings.HasPrefix(body, "checkid ") && strings.HasSuffix(body, "does not have associated ttl")
}

// denied reports whether Consul refuses the token. The agent may return the refusal of a server as a
// 500.
func denied(answer api.StatusError) bool {
	switch answer.Code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return true
	case http.StatusInternalServerError:
		return strings.Contains(answer.Body, "Permission denied") || strings.Contains(answer.Body, "ACL not found")
	}
	return false
}

// garbled reports whether the answer is not that of Consul.
func garbled(err error) bool {
	for _, kind := range []any{new(*json.SyntaxError), new(*json.UnmarshalTypeError), new(*http.MaxBytesError)} {
		if errors.As(err, kind) {
			return true
		}
	}
	return false
}

// checkID returns ErrInvalid for an ID that can't be part of a path. Consul would accept it and use
// another ID.
func checkID(attempt string, ids ...string) error {
	for _, id := range ids {
		switch {
		case id == "":
			return invalid(attempt, errors.New("the ID is empty"))
		case !utf8.ValidString(id), strings.ContainsFunc(id, unicode.IsControl), path.Clean("/"+id) != "/"+id:
			return invalid(attempt, fmt.Errorf("the ID %.80q changes when it is part of a path", id))
		}
	}
	return nil
}
