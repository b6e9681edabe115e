package discovery

import "errors"

// The errors of [Discovery] and [Catalog], for errors.Is. An error wraps one of them and its cause,
// says what was attempted, and says what to do.
var (
	// ErrRefused is returned when nothing listens at the address.
	ErrRefused = errors.New("connection refused")
	// ErrUnreachable is returned when no answer came, or only a part of it. If it did not come in
	// time, errors.Is finds context.DeadlineExceeded too.
	ErrUnreachable = errors.New("no answer")
	// ErrNotPermitted is returned when the credentials are unknown or do not suffice.
	ErrNotPermitted = errors.New("not permitted")
	// ErrServer is returned when the server can't answer at the moment, or when its answer can't be read.
	ErrServer = errors.New("server error")
	// ErrInvalid is returned for a request that the server will never accept.
	ErrInvalid = errors.New("invalid request")
	// ErrNotAdvertised is returned when the registration has no service that is advertised.
	ErrNotAdvertised = errors.New("not advertised")
)
