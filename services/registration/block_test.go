package registration_test

import (
	"context"
	"sync"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// blocks holds an operation of the engine where it begins, until it is released
// or the test ends.
type blocks struct {
	kind    engine.OperationKind
	name    string
	reached chan struct{}
	free    chan struct{}
	once    sync.Once
	do      func() // there; nil: nothing
}

// blockAt makes the daemon, which must not be open yet, stop where the first
// such operation begins.
func (s *fixture) blockAt(kind engine.OperationKind, name string) *blocks {
	b := &blocks{kind: kind, name: name, reached: make(chan struct{}), free: make(chan struct{})}
	s.options.Trace = b.trace
	s.t.Cleanup(b.release)
	return b
}

func (b *blocks) trace(ctx context.Context, op engine.Operation) (context.Context, func(error)) {
	if op.Kind == b.kind && op.Name == b.name {
		b.once.Do(func() {
			if b.do != nil {
				b.do()
			}
			close(b.reached)
			select {
			case <-b.free:
			case <-ctx.Done():
			}
		})
	}
	return ctx, func(error) {}
}

func (b *blocks) release() {
	select {
	case <-b.free:
	default:
		close(b.free)
	}
}

// when does something where the first such operation begins, and lets that go on.
func (s *fixture) when(kind engine.OperationKind, name string, do func()) (done <-chan struct{}) {
	b := s.blockAt(kind, name)
	b.do = do
	b.release()
	return b.reached
}
