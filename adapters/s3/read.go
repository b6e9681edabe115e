package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/fsmgen/fsmgen/adapters/object"
)

// read makes one attempt to bring what l lacks of v.
func (s *Store) read(ctx context.Context, v version, l *landing) error {
	if l.size == v.size && v.size > 0 {
		return nil // the last attempt broke after the last byte
	}
	w := watch(ctx, s.o.StallTimeout)
	defer w.end()
	in := &s3.GetObjectInput{Bucket: &v.bucket, Key: &v.key, IfMatch: &v.etag}
	if l.size > 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", l.size))
	}
	out, err := s.client.GetObject(w.ctx, in)
	if err != nil {
		return w.explain(err)
	}
	defer out.Body.Close()
	body := w.reader(out.Body)
	skip, err := fits(v, l.size, out)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, body, skip); err != nil {
		return w.explain(err)
	}
	if err := l.take(body); err != nil {
		return w.explain(err)
	}
	return complete(v, l.size)
}

// fits checks that an answer is about the version that is being read, from
// offset on. An endpoint may ignore the range and send everything: then what is
// there already is skipped.
func fits(v version, offset int64, out *s3.GetObjectOutput) (skip int64, err error) {
	// An endpoint that does not know If-Match sends what it has.
	if etag := aws.ToString(out.ETag); etag != v.etag {
		return 0, fmt.Errorf("%w: its ETag was %s and is %s: fetch it from the beginning", object.ErrChanged, v.etag, etag)
	}
	length := v.size - offset
	if out.ContentRange == nil {
		skip, length = offset, v.size
	} else if want := fmt.Sprintf("bytes %d-%d/%d", offset, v.size-1, v.size); *out.ContentRange != want {
		return 0, fmt.Errorf("the request was for %q, but the endpoint sends %q", want, *out.ContentRange)
	}
	if out.ContentLength != nil && *out.ContentLength >= 0 && *out.ContentLength != length {
		return 0, fmt.Errorf("%w: %d bytes are left, the endpoint announces %d", errTruncated, length, *out.ContentLength)
	}
	return skip, nil
}

// complete compares what has come with what HEAD announced, for bodies that
// end without an error.
func complete(v version, size int64) error {
	switch {
	case size < v.size:
		return fmt.Errorf("%w after %d of %d bytes", errTruncated, size, v.size)
	case size > v.size:
		return fmt.Errorf("%w: it is longer than the %d bytes that were announced", object.ErrChanged, v.size)
	}
	return nil
}

var (
	errTruncated = errors.New("the body ends early")
	errStalled   = errors.New("the endpoint stalled")
)

// A stall watch breaks an attempt off that waits too long for the endpoint. The
// time that the disk takes does not count.
type stallWatch struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	timeout time.Duration
}

// watch begins an attempt, waiting for the answer.
func watch(ctx context.Context, timeout time.Duration) *stallWatch {
	ctx, cancel := context.WithCancelCause(ctx)
	return &stallWatch{ctx, cancel, time.AfterFunc(timeout, func() { cancel(errStalled) }), timeout}
}

func (w *stallWatch) end() {
	w.timer.Stop()
	w.cancel(nil)
}

// explain tells a stall from the failures that it causes.
func (w *stallWatch) explain(err error) error {
	if errors.Is(context.Cause(w.ctx), errStalled) {
		return fmt.Errorf("%w: it sent nothing for %s", errStalled, w.timeout)
	}
	return err
}

// reader watches each read of a body.
func (w *stallWatch) reader(body io.Reader) io.Reader {
	w.timer.Stop()
	return readerFunc(func(p []byte) (int, error) {
		w.timer.Reset(w.timeout)
		defer w.timer.Stop()
		return body.Read(p)
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
