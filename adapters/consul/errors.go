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

// Error is a failed call. errors.Is finds its kind and its cause.
type Error struct {
	Attempt string // what was attempted: register service "api-1"
	Kind    error  // of the errors of package discovery
	Status  int    // what Consul answered; 0: nothing
	Advice  string // what to do
	Err     error
}

func (e *Error) Error() string {
	return fmt.Sprintf("consul: %s: %v: %s: %v", e.Attempt, e.Kind, e.Advice, e.Err)
}

// Unwrap returns kind and cause.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Err} }

func invalid(attempt string, err error) *Error {
	return &Error{Attempt: attempt, Kind: discovery.ErrInvalid, Advice: adviceInvalid, Err: err}
}

const (
	adviceRefused     = "start the agent, or correct its address"
	adviceUnreachable = "look after the agent and the way to it; what was asked for may have happened"
	adviceUntrusted   = "give the client the CA that signed the agent's certificate, and the agent's name"
	adviceCertificate = "give the client a certificate that the agent trusts"
	adviceToken       = "give the client a token with the permissions that it needs"
	adviceServer      = "read the agent's log; try again when it is well"
	adviceNoConsul    = "correct the address: this is no Consul agent"
	adviceInvalid     = "correct what is asked for"
	adviceRegister    = "register it again"
)

// classify says what an error of the library is.
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

// unknown reports whether Consul says that there is no such service or check. It
// is a 404 of newer versions and a 500 of older ones. A 404 without the words is
// another server's, and no proof that anything is gone.
func unknown(answer api.StatusError) bool {
	if answer.Code != http.StatusNotFound && answer.Code != http.StatusInternalServerError {
		return false
	}
	body := strings.ToLower(answer.Body)
	return strings.HasPrefix(body, "unknown service ") || strings.HasPrefix(body, "unknown check ") ||
		strings.HasPrefix(body, "checkid ") && strings.HasSuffix(body, "does not have associated ttl")
}

// denied reports whether Consul refuses the token. What a server says to the
// agent may come back as a 500.
func denied(answer api.StatusError) bool {
	switch answer.Code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return true
	case http.StatusInternalServerError:
		return strings.Contains(answer.Body, "Permission denied") || strings.Contains(answer.Body, "ACL not found")
	}
	return false
}

// garbled reports whether an answer came that is not Consul's.
func garbled(err error) bool {
	for _, kind := range []any{new(*json.SyntaxError), new(*json.UnmarshalTypeError), new(*http.MaxBytesError)} {
		if errors.As(err, kind) {
			return true
		}
	}
	return false
}

// checkID refuses what can't be part of a path. Consul takes such an ID, and
// then answers about another one.
func checkID(attempt string, ids ...string) error {
	for _, id := range ids {
		switch {
		case id == "":
			return invalid(attempt, errors.New("the ID is empty"))
		case !utf8.ValidString(id), strings.ContainsFunc(id, unicode.IsControl), path.Clean("/"+id) != "/"+id:
			return invalid(attempt, fmt.Errorf("the ID %.80q would be another one in a path", id))
		}
	}
	return nil
}
