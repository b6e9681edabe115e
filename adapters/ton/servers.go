package ton

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xssnick/tonutils-go/liteclient"
	"github.com/xssnick/tonutils-go/tl"
	"github.com/xssnick/tonutils-go/ton"
)

// servers are the liteservers of a configuration. A query that one of them does not answer, or can't
// answer yet, goes to the next one.
type servers struct {
	*liteclient.ConnectionPool
	config  Config
	count   int
	calls   atomic.Uint64
	ctx     context.Context // ends with close
	cancel  context.CancelFunc
	dialers sync.WaitGroup
	first   chan struct{} // closed by the first connection
	once    sync.Once
}

var _ ton.LiteClient = (*servers)(nil)

// connect begins to connect to every liteserver.
func connect(config Config, network *liteclient.GlobalConfig) *servers {
	s := &servers{ConnectionPool: liteclient.NewConnectionPool(), config: config, count: len(network.Liteservers), first: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.SetOnDisconnect(func(address, key string) { s.dialers.Go(func() { s.dial(address, key) }) })
	for _, server := range network.Liteservers {
		ip := make(net.IP, net.IPv4len)
		binary.BigEndian.PutUint32(ip, uint32(server.IP))
		address := net.JoinHostPort(ip.String(), strconv.Itoa(server.Port))
		s.dialers.Go(func() { s.dial(address, server.ID.Key) })
	}
	return s
}

// dial connects to a liteserver, and tries again until it is connected.
func (s *servers) dial(address, key string) {
	for {
		ctx, cancel := context.WithTimeout(s.ctx, s.config.Timeout)
		err := s.AddConnection(ctx, address, key)
		cancel()
		if err == nil {
			s.once.Do(func() { close(s.first) })
			return
		}
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(s.config.Reconnect):
		}
	}
}

// await returns when one liteserver is connected.
func (s *servers) await(ctx context.Context) error {
	late := time.NewTimer(s.config.Timeout)
	defer late.Stop()
	select {
	case <-s.first:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return ErrUnreachable
	}
}

func (s *servers) close() {
	s.cancel()
	s.Stop()
}

// QueryLiteserver asks the liteservers one after another, each once, until one answers with more than
// that it is not ready.
func (s *servers) QueryLiteserver(ctx context.Context, query, answer tl.Serializable) error {
	ctx = s.StickyContext(ctx)
	for asked := 1; ; asked++ {
		err := s.ask(ctx, query, answer)
		if err == nil && !mayHeal(answer) || ctx.Err() != nil {
			return err
		}
		next, left := s.StickyContextNextNode(ctx)
		if left != nil || asked >= s.count {
			return err
		}
		ctx = next
	}
}

// ask asks one liteserver.
func (s *servers) ask(ctx context.Context, query, answer tl.Serializable) error {
	s.calls.Add(1)
	one, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	err := s.ConnectionPool.QueryLiteserver(one, query, answer)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w within %s", ErrUnreachable, s.config.Timeout)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// mayHeal reports whether an answer is an error that another liteserver may not have.
func mayHeal(answer tl.Serializable) bool {
	got, ok := answer.(*tl.Serializable)
	if !ok {
		return false
	}
	refusal, ok := (*got).(ton.LSError)
	return ok && !errors.Is(kindOfCode(refusal.Code), ErrRefused)
}
