package s3

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"syscall"

	smithy "github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/fsmgen/fsmgen/adapters/object"
)

// classify returns the error of object.Objects for a failed attempt, and whether another attempt may
// succeed.
func classify(err error) (classified error, again bool) {
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) && answer.HTTPStatusCode() != 0 { // 0: there was no answer
		return classifyAnswer(err, answer.HTTPStatusCode())
	}
	var untrusted *tls.CertificateVerificationError
	var disk *diskError
	final := errors.Is(err, object.ErrChanged) || errors.As(err, &disk) || errors.As(err, &untrusted)
	return err, !final // a reset, a stall, a body that ended early
}

func classifyAnswer(err error, status int) (error, bool) {
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "RequestTimeout" {
		return err, true // a 400 all the same
	}
	switch status {
	case http.StatusNotFound:
		return fmt.Errorf("%w: check the bucket and the key: %w", object.ErrNoObject, err), false
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%w: check the credentials, the policy of the bucket and this machine's clock; "+
			"without s3:ListBucket a key that does not exist looks the same: %w", object.ErrDenied, err), false
	case http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable:
		return fmt.Errorf("%w: fetch it from the beginning: %w", object.ErrChanged, err), false
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return err, true
	}
	return err, status >= http.StatusInternalServerError
}

// diskError is a failure of this machine's disk, which no endpoint can repair.
type diskError struct{ err error }

// Error says what to do if the disk is full.
func (e *diskError) Error() string {
	if errors.Is(e.err, syscall.ENOSPC) || errors.Is(e.err, syscall.EDQUOT) {
		return e.err.Error() + ": make room on that disk"
	}
	return e.err.Error()
}

// Unwrap gives errors.Is the errno.
func (e *diskError) Unwrap() error { return e.err }
