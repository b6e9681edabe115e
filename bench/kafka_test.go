package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fsmgen/fsmgen/adapters/kafka"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

const topic = "deal.events"

// event is a payload of deal.events.
const event = `{"deal_id":"018f4e5a-0000-7000-8000-000000000001","event_type":"FUNDED","from_status":"AWAITING_PAYMENT","to_status":"FUNDED","actor_id":null,"created_at":"2026-01-01T00:00:00Z"}`

// BenchmarkKafka publishes backlogs on a cluster in the process, which is kfake: through the adapter
// alone, through the engine from a database, and with franz-go alone, which sends the same bytes. Each
// message waits for its acknowledgement, and each way has 1,000 under way at most.
func BenchmarkKafka(b *testing.B) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(8, topic))
	must(b, err)
	b.Cleanup(cluster.Close)
	publisher, err := kafka.NewPublisher(kafka.PublisherConfig{
		Brokers: cluster.ListenAddrs(), Source: "/deals", Topics: map[string]string{"deal.events": topic},
	})
	must(b, err)
	b.Cleanup(publisher.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	must(b, err)
	b.Cleanup(client.Close)

	relay := newOutbox(b, postgresDSN(b), message{"deal.events", "kafka", event}, func(begun *func()) deal.Handlers[pgx.Tx] {
		return announced{publisher: publisher, begun: begun}
	})
	took := takeTurns(b, []queue{
		&senders{send: publisher.Publish},
		relay,
		&senders{send: func(ctx context.Context, d fsm.Dispatch) error {
			return client.ProduceSync(ctx, sameBytes(d)).FirstErr()
		}},
	})
	adapter, engine, alone := rate(backlog, median(took[0])), rate(backlog, median(took[1])), rate(backlog, median(took[2]))
	b.ReportMetric(0, "ns/op") // of all: says nothing
	b.ReportMetric(adapter, "adapter-messages/s")
	b.ReportMetric(engine, "engine-messages/s")
	b.ReportMetric(alone, "franz-go-messages/s")
	b.ReportMetric(adapter/alone, "adapter-of-franz-go")
	b.ReportMetric(engine/alone, "engine-of-franz-go")
}

// announced publishes deal.events. The other effects do not happen here.
type announced struct {
	deal.Handlers[pgx.Tx]
	publisher *kafka.Publisher
	begun     *func()
}

func (a announced) DealEvents(ctx context.Context, d fsm.Dispatch, _ deal.DealEventsEffect) error {
	(*a.begun)()
	return a.publisher.Publish(ctx, d)
}

// senders sends a backlog of messages that no database has.
type senders struct {
	send func(context.Context, fsm.Dispatch) error
	open atomic.Int64
}

func (s *senders) fill(_ *testing.B, count int) { s.open.Store(int64(count)) }

func (s *senders) run(ctx context.Context, b *testing.B, begun func()) {
	messages := make(chan fsm.Dispatch)
	var working sync.WaitGroup
	for range slots {
		working.Go(func() {
			for d := range messages {
				begun()
				if err := s.send(ctx, d); err != nil {
					b.Error(err)
				}
				s.open.Add(-1)
			}
		})
	}
	for range s.open.Load() {
		messages <- fsm.Dispatch{ID: random(), Machine: "deal", Record: random(), Effect: "deal.events", Payload: []byte(event), Correlation: random()}
	}
	close(messages)
	working.Wait()
}

func (s *senders) left(context.Context) (bool, error) { return s.open.Load() > 0, nil }

// sameBytes is the message that the adapter makes of d.
func sameBytes(d fsm.Dispatch) *kgo.Record {
	header := func(name, value string) kgo.RecordHeader { return kgo.RecordHeader{Key: name, Value: []byte(value)} }
	return &kgo.Record{Topic: topic, Key: []byte(d.Record), Value: d.Payload, Headers: []kgo.RecordHeader{
		header("ce_specversion", "1.0"), header("ce_id", d.ID), header("ce_type", "deal.deal.events"), header("ce_source", "/deals"),
		header("ce_subject", d.Record), header("ce_time", "0001-01-01T00:00:00Z"), header("content-type", "application/json"),
		header("ce_correlationid", d.Correlation),
	}}
}
