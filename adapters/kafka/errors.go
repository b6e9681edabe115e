package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// The errors of Publish, besides that of its context. Publish wraps each with the message, the topic
// and Kafka's error.
var (
	// ErrTooLarge is returned for a message above the limit of the configuration or of the broker.
	// A repeat would fail again.
	ErrTooLarge = errors.New("the message is too large")
	// ErrNotAllowed is returned when the credentials may not write to the topic. A repeat fails
	// until an operator grants the right.
	ErrNotAllowed = errors.New("not allowed")
	// ErrNoTopic is returned when the topic does not exist, or has a name that Kafka does not
	// allow, or when the configuration has none for the effect.
	ErrNoTopic = errors.New("no such topic")
	// ErrUnreachable is returned when no broker has acknowledged the message in time. The message
	// may be in the topic nevertheless.
	ErrUnreachable = errors.New("no broker has acknowledged the message")
)

// published returns the error of a message that was not acknowledged. If a repeat would fail again,
// it is an *engine.PermanentError, and the engine makes the message a dead letter.
func published(messageID, topic string, err error) error {
	kind, permanent := kindOf(err)
	if kind != nil {
		err = fmt.Errorf("%w: %w", kind, err)
	}
	err = fmt.Errorf("publish message %s to topic %q: %w", messageID, topic, err)
	if permanent {
		return &engine.PermanentError{Err: err}
	}
	return err
}

// kindOf returns which of the errors above err is, or nil, and whether a repeat would fail again.
func kindOf(err error) (kind error, permanent bool) {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil, false
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge), errors.Is(err, ErrTooLarge):
		return ErrTooLarge, true
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.ClusterAuthorizationFailed), errors.Is(err, kerr.SaslAuthenticationFailed):
		return ErrNotAllowed, true
	case errors.Is(err, kerr.InvalidTopicException):
		return ErrNoTopic, true
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID):
		return ErrNoTopic, false // an operator may be about to create it
	case errors.Is(err, kgo.ErrRecordTimeout), errors.Is(err, kgo.ErrRecordRetries), kerr.IsRetriable(err):
		return ErrUnreachable, false
	}
	return nil, false
}

// PoisonError is returned by a handler for a message that it can never handle. See Poison.
type PoisonError struct{ Err error }

func (e *PoisonError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *PoisonError) Unwrap() error { return e.Err }

// Poison returns err as a *PoisonError: the handler would fail at every delivery of the message, so
// the consumer moves the message to the dead-letter topic, with the reason. Poison(nil) is nil.
func Poison(err error) error {
	if err == nil {
		return nil
	}
	return &PoisonError{err}
}
