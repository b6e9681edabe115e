package main

import "errors"

// dispensableError is why a part could not be had whose absence is no failure,
// since something else stands in for it. The summary says so.
type dispensableError struct {
	instead string   // what was done without the part
	env     []string // tells the tests that it is absent
	err     error
}

func (e *dispensableError) Error() string { return e.err.Error() }

func (e *dispensableError) Unwrap() error { return e.err }

// dispensable returns why a part is not there, if that is no failure.
func (o outcome) dispensable() *dispensableError {
	var reason *dispensableError
	if o.running == nil && errors.As(o.err, &reason) {
		return reason
	}
	return nil
}
