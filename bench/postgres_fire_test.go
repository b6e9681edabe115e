package bench

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// deals is how many records the benchmarks fire at in turn.
const deals = 4000

// consents fires the event that is measured, at one deal after another: the
// advertiser consents to cancel a funded deal. It updates the record and
// inserts a history row and two messages, and can be repeated for ever.
type consents struct {
	engine *engine.Engine[pgx.Tx]
	byHand byHand
	bare   byHand // whose writes fire no trigger
	next   atomic.Int64
}

func newConsents(b *testing.B, dsn string) *consents {
	s := newSchema(b, dsn)
	c := &consents{
		engine: s.engine(nil, engine.Config{}), // nothing is delivered here
		byHand: byHand{s.connect(nil)}, bare: byHand{s.connectUntriggered()},
	}
	s.fund(deals)
	return c
}

// advertiser of every deal.
const advertiser = 7

func (c *consents) id() fsm.UUID { return dealID(c.next.Add(1) % deals) }

func (c *consents) fire(ctx context.Context) error {
	_, err := c.engine.Fire(ctx, "deal", c.id().String(), deal.MutualCancel{}, engine.Call{By: deal.ByAdvertiser(advertiser).Caller()})
	return err
}

func (c *consents) fireByHand(ctx context.Context) error {
	return c.byHand.consent(ctx, c.id(), advertiser)
}

func (c *consents) fireBare(ctx context.Context) error {
	return c.bare.consent(ctx, c.id(), advertiser)
}

// fireBatch fires as many events by FireBatch.
func (c *consents) fireBatch(ctx context.Context, events int) error {
	batch := make([]engine.Firing, events)
	for i := range batch {
		batch[i] = engine.Firing{Machine: "deal", ID: c.id().String(), Event: deal.MutualCancel{}, Call: engine.Call{By: deal.ByAdvertiser(advertiser).Caller()}}
	}
	outcomes, err := c.engine.FireBatch(ctx, batch)
	for _, o := range outcomes {
		if err == nil {
			err = o.Err
		}
	}
	return err
}

// fireBatchByHand does the same by hand.
func (c *consents) fireBatchByHand(ctx context.Context, events int) error {
	ids := make([]string, events)
	for i := range ids {
		ids[i] = c.id().String()
	}
	return c.byHand.consentAll(ctx, ids, advertiser)
}

// by has clients share the events among them, and returns how long they took.
func by(b *testing.B, clients, events int, fire func(context.Context) error) time.Duration {
	b.Helper()
	ctx := context.Background()
	begin := time.Now()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for range events / clients {
				if err := fire(ctx); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(begin)
}

// BenchmarkPostgresFire fires one event at a time through the engine, by hand,
// and by hand without triggers. The ways take turns in short stretches, so that
// whatever else the computer does meets all of them; of the stretches of a way
// the median counts.
func BenchmarkPostgresFire(b *testing.B) { withAndWithoutFsync(b, compareFire) }

func compareFire(b *testing.B, dsn string) {
	c := newConsents(b, dsn)
	for _, clients := range []int{1, 16} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			events := 32 + 8*clients
			ways := []func(context.Context) error{c.fire, c.fireByHand, c.fireBare}
			for _, way := range ways { // connects and prepares the statements
				by(b, clients, 8*clients, way)
			}
			took := make([][]time.Duration, len(ways))
			for round := 0; b.Loop(); round++ {
				for i := range ways {
					way := (round + i) % len(ways)
					took[way] = append(took[way], by(b, clients, events, ways[way]))
				}
			}
			engine, byHand, bare := median(took[0]), median(took[1]), median(took[2])
			b.ReportMetric(0, "ns/op") // of a round of all ways: says nothing
			b.ReportMetric(rate(events, engine), "engine-events/s")
			b.ReportMetric(rate(events, byHand), "by-hand-events/s")
			b.ReportMetric(rate(events, bare), "without-triggers-events/s")
			b.ReportMetric(byHand.Seconds()/engine.Seconds(), "of-by-hand")
			b.ReportMetric(float64((byHand-bare).Microseconds())/float64(events), "trigger-us/event")
			b.ReportMetric(100*(byHand-bare).Seconds()/engine.Seconds(), "trigger-percent")
		})
	}
}

// BenchmarkPostgresBatch fires the same events by FireBatch, and the same batch by hand:
// as many in a transaction, and as many transactions at the same time. They take turns as well.
func BenchmarkPostgresBatch(b *testing.B) { withAndWithoutFsync(b, compareBatches) }

func compareBatches(b *testing.B, dsn string) {
	c := newConsents(b, dsn)
	const events = 1000
	ways := []func(context.Context) error{
		func(ctx context.Context) error { return c.fireBatch(ctx, events) },
		func(ctx context.Context) error { return c.fireBatchByHand(ctx, events) },
	}
	for _, way := range ways { // connects and prepares the statements
		by(b, 1, 1, way)
	}
	took := make([][]time.Duration, len(ways))
	for round := 0; b.Loop(); round++ {
		for i := range ways {
			way := (round + i) % len(ways)
			took[way] = append(took[way], by(b, 1, 1, ways[way]))
		}
	}
	engine, byHand := median(took[0]), median(took[1])
	b.ReportMetric(0, "ns/op") // of both: says nothing
	b.ReportMetric(rate(events, engine), "engine-events/s")
	b.ReportMetric(rate(events, byHand), "by-hand-events/s")
	b.ReportMetric(byHand.Seconds()/engine.Seconds(), "of-by-hand")
}

// median returns the middle one.
func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

// random returns a random UUID (version 4).
func random() string {
	var u fsm.UUID
	_, _ = rand.Read(u[:]) // never fails
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return u.String()
}

// messageID is the id of a message of the step with that history row: the tables of
// the engine take no other.
func messageID(event string, seq int) string {
	var text strings.Builder
	for _, part := range []string{"message", event, strconv.Itoa(seq)} {
		fmt.Fprintf(&text, "%d:%s", len(part), part)
	}
	sum := sha256.Sum256([]byte(text.String()))
	u := fsm.UUID(sum[:16])
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return u.String()
}
