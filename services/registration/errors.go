package registration

import "errors"

// What callers of Registry, Discovery and Catalog test for. They wrap their
// cause and say what to do.
var (
	// ErrRefused: nothing listens where the system should be.
	ErrRefused = errors.New("connection refused")
	// ErrUnreachable: there was no answer, or not all of it. If it did not come
	// in time, the error is context.DeadlineExceeded too.
	ErrUnreachable = errors.New("no answer")
	// ErrNotPermitted: the credentials are unknown or don't suffice.
	ErrNotPermitted = errors.New("not permitted")
	// ErrServer: the system answered that it can't at the moment, or nonsense.
	ErrServer = errors.New("server error")
	// ErrInvalid: the system will never accept what was asked.
	ErrInvalid = errors.New("invalid request")
	// ErrNotAdvertised: the registration has no service.
	ErrNotAdvertised = errors.New("not advertised")
	// ErrNotRegistered: the registration has no row.
	ErrNotRegistered = errors.New("not registered")
	// ErrSuperseded: another registration of the node that has not ended has
	// the row.
	ErrSuperseded = errors.New("superseded by another registration")
)
