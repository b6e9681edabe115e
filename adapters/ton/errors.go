package ton

import (
	"context"
	"errors"
	"fmt"

	"github.com/xssnick/tonutils-go/liteclient"
	"github.com/xssnick/tonutils-go/ton"
)

// What a call to the chain can fail with, beside the error of its context. Each is wrapped with what
// was asked, and with the liteserver's own words.
var (
	// ErrUnreachable is returned when no liteserver answers. A message that was being sent may have
	// arrived all the same.
	ErrUnreachable = errors.New("no liteserver answers")
	// ErrNotSynchronised is returned when the liteservers lack a block that was seen before, or when
	// their last block is older than Config.MaxLag allows. A repeat succeeds once they have caught up.
	ErrNotSynchronised = errors.New("the liteservers are not synchronised")
	// ErrProof is returned when an answer does not fit the blocks that validators have signed. The
	// liteserver is broken or lies; nothing of the answer was used.
	ErrProof = errors.New("the answer is not proved")
	// ErrRefused is returned when a liteserver refuses a query, or an account a message. A refused
	// message is in no block because of this send; an earlier send of the same bytes may be.
	ErrRefused = errors.New("refused")
)

// The codes of a liteserver's errors that a repeat can heal.
const (
	codeNotReady    = 651
	codeTimeout     = 652
	codeNotInDB     = -400
	codeOverloaded  = 228
	codeRateLimited = 429
	codeBadGateway  = 502
	codeUnavailable = -503
)

// classify wraps an error of the client with the one of the errors above that it is.
func classify(what string, err error) error {
	if err == nil {
		return nil
	}
	if kind := kindOf(err); kind != nil && !errors.Is(err, kind) {
		err = fmt.Errorf("%w: %w", kind, err)
	}
	return fmt.Errorf("ton: %s: %w", what, err)
}

// kindOf returns nil for the error of a context.
func kindOf(err error) error {
	var refusal ton.LSError
	switch {
	case errors.Is(err, ErrUnreachable):
		return ErrUnreachable
	case errors.Is(err, ErrNotSynchronised):
		return ErrNotSynchronised
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil
	case errors.Is(err, liteclient.ErrNoNodesLeft), errors.Is(err, ton.ErrNoTransactionsWereFound), errors.Is(err, ton.ErrBlockNotFound):
		return ErrNotSynchronised
	case errors.As(err, &refusal):
		return kindOfCode(refusal.Code)
	}
	return ErrProof // the client checks answers, and has no error of its own for a failed check
}

func kindOfCode(code int32) error {
	switch code {
	case codeNotReady, codeTimeout, codeNotInDB:
		return ErrNotSynchronised
	case codeOverloaded, codeRateLimited, codeBadGateway, codeUnavailable:
		return ErrUnreachable
	}
	return ErrRefused
}
