package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// BenchmarkHungDestination delivers messages to one destination while another one
// hangs, with many messages blocked behind those that hang. The time is from the
// beginning of the event, in another engine than the worker's, to the handler of its
// message.
func BenchmarkHungDestination(b *testing.B) {
	blocked := sized(200_000, 20_000)
	b.Run(fmt.Sprintf("postgres/blocked=%d", blocked), func(b *testing.B) {
		s, h := newServer(b), &halfHung{end: make(chan struct{}), handled: map[string]chan time.Time{}}
		fires, works := s.engine(nil, engine.Config{}), s.engine(h, engine.Config{})
		s.fund(deals)
		s.block(blocked)
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { must(b, works.Run(ctx)) })
		defer running.Wait()
		defer stop()
		defer close(h.end)
		n := int64(0)
		fire := func() time.Duration {
			n++
			id := dealID(n % deals).String()
			handled := h.expect(id)
			begin := time.Now()
			_, err := fires.Fire(ctx, "deal", id, deal.MutualCancel{}, engine.Call{By: deal.ByAdvertiser(advertiser).Caller()})
			must(b, err)
			return (<-handled).Sub(begin)
		}
		for range 50 { // the worker parks what is blocked, and connects
			fire()
		}
		var took []time.Duration
		for b.Loop() {
			for range 300 {
				took = append(took, fire())
			}
		}
		slices.Sort(took)
		b.ReportMetric(0, "ns/op") // of 300 events
		b.ReportMetric(median(took).Seconds()*1000, "p50-ms")
		b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
	})
}

// halfHung tells when a deal's event was handled, and hangs with its owner's
// notifications.
type halfHung struct {
	deal.Handlers[pgx.Tx]
	end chan struct{}

	mu      sync.Mutex
	handled map[string]chan time.Time
}

// expect returns what tells when the next event of a deal is handled.
func (h *halfHung) expect(id string) <-chan time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handled[id] = make(chan time.Time, 1)
	return h.handled[id]
}

func (h *halfHung) DealEvents(_ context.Context, d fsm.Dispatch, _ deal.DealEventsEffect) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handled[d.Record] <- time.Now()
	return nil
}

func (h *halfHung) NotifyOwner(ctx context.Context, _ fsm.Dispatch, _ deal.NotifyOwnerEffect) error {
	select {
	case <-h.end:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// block writes messages for owners, of other deals than those of fund: 200 of each, one
// behind the other.
func (s *server) block(count int) {
	s.b.Helper()
	_, err := s.connectUntriggered().Exec(context.Background(), `INSERT INTO fsm_outbox
			(message_id, machine, record_id, version, seq, effect, destination, delivery, work, payload, correlation, created_at, state, attempts, available_at)
		SELECT gen_random_uuid(), 'deal', '00000000-0000-4000-9000-' || lpad(to_hex(n / 200), 12, '0'), n % 200 + 1, 0, 'notify_owner', 'owner_notifications', 'keyed', false,
			'{"owner_id":8,"status":"FUNDED"}', 'c', now(), 'pending', 0, now()
		FROM generate_series(0, $1::bigint - 1) AS n`, count)
	must(s.b, err)
	s.exec("VACUUM (ANALYZE) fsm_outbox")
}
