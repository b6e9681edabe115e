package bench

import (
	"context"
	"errors"
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

// BenchmarkBusyRecord has a record wait for an answer while 16 callers fire events at it
// without a pause, one record after the other. It measures how long a worker takes to
// store an answer that it has got, and how many answers it reported as lost instead.
func BenchmarkBusyRecord(b *testing.B) {
	const callers = 16
	p := &published{answered: map[string]time.Time{}, left: make(chan time.Duration, 1)}
	s := newServer(b)
	e := s.engine(p, engine.Config{Trace: p.trace})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { must(b, e.Run(ctx)) })
	var took []time.Duration
	fired := 0
	for n := int64(0); b.Loop(); n++ {
		id := dealID(n).String()
		s.schedule(n)
		_, err := e.Fire(ctx, "deal", id, deal.AutoPublished{}, engine.Call{By: fsm.System()})
		must(b, err)
		over := make(chan struct{})
		var all sync.WaitGroup
		counts := make([]int, callers)
		for c := range callers {
			all.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-over:
						counts[c] = i
						return
					default:
					}
					deposit := deal.DepositConfirmed{TxHash: fmt.Sprintf("%d-%d-%d", n, c, i), AmountNano: 1}
					if _, err := e.Fire(ctx, "deal", id, deposit, engine.Call{By: fsm.System()}); err != nil && !errors.Is(err, engine.ErrConflict) {
						b.Error(err)
					}
				}
			})
		}
		took = append(took, <-p.left)
		close(over)
		all.Wait()
		for _, c := range counts {
			fired += c
		}
		found, err := e.Get(ctx, "deal", id)
		must(b, err)
		if state := found.Record.StateName(); state != deal.DeliveryVerifying.String() {
			b.Errorf("the record is in %s: the answer was lost", state)
		}
	}
	stop()
	running.Wait()
	slices.Sort(took)
	b.ReportMetric(0, "ns/op") // of a round: says nothing
	b.ReportMetric(took[len(took)-1].Seconds()*1000, "slowest-ms")
	b.ReportMetric(median(took).Seconds()*1000, "median-ms")
	b.ReportMetric(float64(fired)/float64(len(took)), "calls/answer")
}

// published answers that a post is there, after a hundred milliseconds, in which the
// callers have begun. Nothing else happens to these deals.
type published struct {
	deal.Handlers[pgx.Tx]
	mu       sync.Mutex
	answered map[string]time.Time
	left     chan time.Duration // how long the answer of a record took to be stored
}

func (p *published) VerifyCallback(_ context.Context, d fsm.Dispatch, _ deal.VerifyCallbackEffect) (deal.VerifyCallbackAnswer, error) {
	time.Sleep(100 * time.Millisecond)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered[d.Record] = time.Now()
	return deal.StartVerification{}, nil
}

// trace waits for the end of what asked for an answer.
func (p *published) trace(ctx context.Context, op engine.Operation) (context.Context, func(error)) {
	return ctx, func(error) {
		if op.Kind == engine.OpEffect && op.Name == "verify_callback" {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.left <- time.Since(p.answered[op.Record])
		}
	}
}

func (p *published) RefundDeposit(context.Context, fsm.Dispatch, deal.RefundDepositEffect) error {
	return nil
}

func (p *published) QueryRefundDeposit(context.Context, fsm.Dispatch, deal.RefundDepositEffect) (bool, error) {
	return false, nil
}

func (p *published) DealEvents(context.Context, fsm.Dispatch, deal.DealEventsEffect) error {
	return nil
}

func (p *published) StartVerification(context.Context, fsm.Dispatch, deal.StartVerificationEffect) error {
	return nil
}

// schedule inserts the n-th deal with an approved post.
func (s *server) schedule(n int64) {
	s.b.Helper()
	pool := s.connectUntriggered()
	defer pool.Close()
	_, err := pool.Exec(context.Background(), `INSERT INTO deals
			(deal_id, status, version, last_event, entered_at, advertiser_id, owner_id, price_nano, deposit_address, deposit_tx, deposit_nano, escrow, creative, publish_at)
		VALUES ($1::uuid, 'SCHEDULED', 1, 'SCHEDULE', now(), 7, 8, 100, 'address-' || $1::uuid, 'tx-' || $1::uuid, 100, 'held', '{}', now())`, dealID(n).String())
	must(s.b, err)
}
