package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fsmgen/fsmgen/adapters/kafka"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// cluster starts a Kafka cluster in the process: kfake, which speaks the wire protocol and keeps its
// messages in memory. It is a fake.
func cluster(t *testing.T, partitions int32, topics ...string) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, topics...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// topicOf reads n messages from the beginning of a topic.
func topicOf(t *testing.T, c *kfake.Cluster, topic string, n int) []*kgo.Record {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var found []*kgo.Record
	for len(found) < n && t.Context().Err() == nil {
		found = append(found, client.PollFetches(t.Context()).Records()...)
	}
	if len(found) != n {
		t.Fatalf("the topic %s has %d messages, want %d", topic, len(found), n)
	}
	return found
}

// produce writes messages into a topic, as another service would. Each has the key and the value key:i.
func produce(t *testing.T, c *kfake.Cluster, topic string, messages ...*kgo.Record) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.DefaultProduceTopic(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), messages...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func numbered(n, keys int) (list []*kgo.Record) {
	for i := range n {
		list = append(list, &kgo.Record{Key: fmt.Appendf(nil, "key-%d", i%keys), Value: fmt.Appendf(nil, "%d", i)})
	}
	return list
}

func header(r *kgo.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

var at = time.Date(2026, 3, 2, 9, 0, 0, 123456000, time.UTC)

func dispatch(record, id, payload string) fsm.Dispatch {
	return fsm.Dispatch{
		ID: id, Machine: "deal", Record: record, Effect: "deal.events", Version: 3, At: at, Attempt: 1,
		Correlation: "order-77", Payload: []byte(payload),
	}
}

func publisher(t *testing.T, c *kfake.Cluster, change func(*kafka.PublisherConfig)) *kafka.Publisher {
	t.Helper()
	config := kafka.PublisherConfig{Brokers: c.ListenAddrs(), Source: "/deals", Topics: map[string]string{"deal.events": "events"}}
	if change != nil {
		change(&config)
	}
	p, err := kafka.NewPublisher(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// TestPublish: a message has the record's id as key, the payload as value, and the headers of
// CloudEvents in binary mode; a repeat has the same ce_id.
func TestPublish(t *testing.T) {
	t.Parallel()
	c := cluster(t, 4, "events")
	p := publisher(t, c, nil)
	d := dispatch("deal-1", "message-1", `{"to_status":"FUNDED"}`)
	for range 2 {
		if err := p.Publish(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		d.Attempt++
	}
	for _, r := range topicOf(t, c, "events", 2) {
		if string(r.Key) != "deal-1" || string(r.Value) != `{"to_status":"FUNDED"}` {
			t.Errorf("key %s, value %s", r.Key, r.Value)
		}
		for name, want := range map[string]string{
			"ce_specversion": "1.0", "ce_id": "message-1", "ce_type": "deal.deal.events", "ce_source": "/deals", "ce_subject": "deal-1",
			"ce_time": "2026-03-02T09:00:00.123456Z", "ce_correlationid": "order-77", "content-type": "application/json",
		} {
			if got := header(r, name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
}

// TestOrderOfARecord: what is published one after another for a record keeps its order, whatever else
// is published meanwhile.
func TestOrderOfARecord(t *testing.T) {
	t.Parallel()
	const records, each = 8, 50
	c := cluster(t, 4, "events")
	p := publisher(t, c, nil)
	var all sync.WaitGroup
	for r := range records {
		all.Go(func() {
			for i := range each {
				if err := p.Publish(t.Context(), dispatch(fmt.Sprintf("deal-%d", r), fmt.Sprintf("%d-%d", r, i), fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	next := map[string]int{}
	for _, r := range topicOf(t, c, "events", records*each) {
		if key := string(r.Key); string(r.Value) != fmt.Sprint(next[key]) {
			t.Fatalf("%s has %s, want %d", key, r.Value, next[key])
		} else {
			next[key]++
		}
	}
}

// TestPublishErrors: errors are told apart, and what a repeat would meet again is permanent.
func TestPublishErrors(t *testing.T) {
	t.Parallel()
	broker := func(e *kerr.Error) func(*testing.T, *kfake.Cluster) {
		return func(_ *testing.T, c *kfake.Cluster) {
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: e, Count: -1})
		}
	}
	for name, tt := range map[string]struct {
		trouble   func(*testing.T, *kfake.Cluster)
		effect    string
		payload   string
		want      error
		permanent bool
		text      string
	}{
		"above our limit":    {payload: strings.Repeat("x", 101), want: kafka.ErrTooLarge, permanent: true, text: "101 bytes, and the limit is 100"},
		"above the broker's": {trouble: broker(kerr.MessageTooLarge), want: kafka.ErrTooLarge, permanent: true, text: "MESSAGE_TOO_LARGE"},
		"not allowed":        {trouble: broker(kerr.TopicAuthorizationFailed), want: kafka.ErrNotAllowed, permanent: true, text: `to topic "events"`},
		"a bad name":         {trouble: broker(kerr.InvalidTopicException), want: kafka.ErrNoTopic, permanent: true},
		"no topic named":     {effect: "notify_owner", want: kafka.ErrNoTopic, permanent: true, text: "name it in PublisherConfig.Topics"},
		"replicas missing":   {trouble: broker(kerr.NotEnoughReplicas), want: kafka.ErrUnreachable},
		"the broker is gone": {trouble: func(_ *testing.T, c *kfake.Cluster) { c.Close() }, want: kafka.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cluster(t, 1, "events")
			p := publisher(t, c, func(config *kafka.PublisherConfig) {
				config.MaxBytes, config.Patience = 100, 2*time.Second
			})
			if tt.trouble != nil {
				tt.trouble(t, c)
			}
			d := dispatch("deal-1", "message-1", tt.payload)
			if tt.effect != "" {
				d.Effect = tt.effect
			}
			err := p.Publish(t.Context(), d)
			var permanent *engine.PermanentError
			if !errors.Is(err, tt.want) || errors.As(err, &permanent) != tt.permanent {
				t.Errorf("got %v, want %v, permanent %v", err, tt.want, tt.permanent)
			}
			if err != nil && (!strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), "publish message message-1")) {
				t.Errorf("%q does not say %q and which message", err, tt.text)
			}
		})
	}
}

// TestPublishEndsWithItsContext: a worker that is stopped does not wait for brokers.
func TestPublishEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c := cluster(t, 1, "events")
	p := publisher(t, c, nil)
	ctx, cancel := context.WithCancel(t.Context())
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: -1, When: func(kmsg.Request) bool { cancel(); return true }})
	if err := p.Publish(ctx, dispatch("deal-1", "message-1", "{}")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestConfigurations: what is missing is named, with what to write.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	handle := func(context.Context, kafka.Message) error { return nil }
	brokers, topics := []string{"127.0.0.1:1"}, map[string]string{"deal.events": "events"}
	for want, config := range map[string]kafka.PublisherConfig{
		"PublisherConfig.Brokers is empty":     {Source: "/deals", Topics: topics},
		"PublisherConfig.Source is empty":      {Brokers: brokers, Topics: topics},
		"PublisherConfig.Topics is empty":      {Brokers: brokers, Source: "/deals"},
		"no topic for the effect deal.events":  {Brokers: brokers, Source: "/deals", Topics: map[string]string{"deal.events": ""}},
		"PublisherConfig has a negative limit": {Brokers: brokers, Source: "/deals", Topics: topics, MaxBytes: -1},
	} {
		if _, err := kafka.NewPublisher(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	whole := kafka.ConsumerConfig{Brokers: brokers, Group: "g", Topics: []string{"deposits"}, DeadLetters: "dead", Handle: handle}
	for want, change := range map[string]func(*kafka.ConsumerConfig){
		"ConsumerConfig.Brokers is empty":     func(c *kafka.ConsumerConfig) { c.Brokers = nil },
		"ConsumerConfig.Group is empty":       func(c *kafka.ConsumerConfig) { c.Group = "" },
		"ConsumerConfig.Topics is empty":      func(c *kafka.ConsumerConfig) { c.Topics = nil },
		"ConsumerConfig.DeadLetters is empty": func(c *kafka.ConsumerConfig) { c.DeadLetters = "" },
		"ConsumerConfig.Handle is missing":    func(c *kafka.ConsumerConfig) { c.Handle = nil },
		"ConsumerConfig.Batch is negative":    func(c *kafka.ConsumerConfig) { c.Batch = -1 },
		"they would come back":                func(c *kafka.ConsumerConfig) { c.DeadLetters = "deposits" },
	} {
		config := whole
		change(&config)
		if _, err := kafka.NewConsumer(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// consume runs a consumer until stop is called, which waits for its end.
func consume(t *testing.T, c *kfake.Cluster, handle func(context.Context, kafka.Message) error) (stop func()) {
	t.Helper()
	consumer, err := kafka.NewConsumer(kafka.ConsumerConfig{
		Brokers: c.ListenAddrs(), Group: "deals", Topics: []string{"deposits"}, DeadLetters: "dead", Handle: handle, Batch: 10,
		Backoff: func(int) time.Duration { return time.Millisecond }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- consumer.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// inbox collects what was handled, in its order.
type inbox struct {
	mu      sync.Mutex
	arrived chan struct{}
	values  []string
	perKey  map[string][]string
}

func newInbox() *inbox { return &inbox{arrived: make(chan struct{}, 1), perKey: map[string][]string{}} }

func (b *inbox) put(m kafka.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.values = append(b.values, string(m.Value))
	b.perKey[string(m.Key)] = append(b.perKey[string(m.Key)], string(m.Value))
	select {
	case b.arrived <- struct{}{}:
	default:
	}
}

// wait returns when done says so of what has been handled.
func (b *inbox) wait(t *testing.T, done func(values []string) bool) {
	t.Helper()
	for {
		b.mu.Lock()
		enough := done(b.values)
		b.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-b.arrived:
		case <-t.Context().Done():
			t.Fatal("the test ended before the messages were handled")
		}
	}
}

func count(n int) func([]string) bool { return func(values []string) bool { return len(values) >= n } }

func distinct(n int) func([]string) bool {
	return func(values []string) bool { return len(slices.Compact(slices.Sorted(slices.Values(values)))) >= n }
}

// TestConsume: each message is handled once while nothing fails, those of a key in their order, also
// when there are more than a batch; a second run of the group gets only what is new.
func TestConsume(t *testing.T) {
	t.Parallel()
	const messages = 500
	c := cluster(t, 4, "deposits", "dead")
	produce(t, c, "deposits", numbered(messages, 10)...)
	first := newInbox()
	stop := consume(t, c, func(_ context.Context, m kafka.Message) error { first.put(m); return nil })
	first.wait(t, count(messages))
	stop()
	if len(first.values) != messages {
		t.Errorf("%d messages were handled", len(first.values))
	}
	for key, values := range first.perKey {
		if !slices.IsSortedFunc(values, func(a, b string) int { return len(a) - len(b) }) {
			t.Errorf("the messages of %s came as %v", key, values)
		}
	}
	produce(t, c, "deposits", &kgo.Record{Key: []byte("key-1"), Value: []byte("new")})
	second := newInbox()
	consume(t, c, func(_ context.Context, m kafka.Message) error { second.put(m); return nil })
	second.wait(t, count(1))
	if second.values[0] != "new" {
		t.Errorf("%s came again after its offset was committed", second.values[0])
	}
}

// TestTheOffsetFollowsTheHandler: a message whose handler has not returned is delivered to the next
// member, with the same ID.
func TestTheOffsetFollowsTheHandler(t *testing.T) {
	t.Parallel()
	c := cluster(t, 1, "deposits", "dead")
	produce(t, c, "deposits", &kgo.Record{Value: []byte("1"), Headers: []kgo.RecordHeader{{Key: "ce_id", Value: []byte("deposit-1")}}})
	begun := make(chan string, 1)
	stop := consume(t, c, func(ctx context.Context, m kafka.Message) error {
		begun <- m.ID
		<-ctx.Done() // the process is stopped in the middle
		return ctx.Err()
	})
	id := <-begun
	stop()
	again := newInbox()
	ids := make(chan string, 1)
	consume(t, c, func(_ context.Context, m kafka.Message) error { again.put(m); ids <- m.ID; return nil })
	if got := <-ids; id != "deposit-1" || got != id {
		t.Errorf("the ids are %s and %s", id, got)
	}
}

// TestARefusedCommit: the message is delivered again, and its ID is that of the first delivery.
func TestARefusedCommit(t *testing.T) {
	t.Parallel()
	c := cluster(t, 1, "deposits", "dead")
	produce(t, c, "deposits", &kgo.Record{Value: []byte("1")})
	refused := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.UnknownMemberID, Count: -1})
	ids := make(chan string, 100)
	stop := consume(t, c, func(_ context.Context, m kafka.Message) error { ids <- m.ID; return nil })
	first := <-ids
	stop()
	refused.Remove()
	consume(t, c, func(_ context.Context, m kafka.Message) error { ids <- m.ID; return nil })
	if again := <-ids; first != "deposits/0/0" || again != first {
		t.Errorf("the ids are %s and %s", first, again)
	}
}

// TestPoison: a message that can't be handled is moved with its reason, and what is behind it goes on.
func TestPoison(t *testing.T) {
	t.Parallel()
	c := cluster(t, 1, "deposits", "dead")
	bad := &kgo.Record{Key: []byte("key-1"), Value: []byte("bad"), Headers: []kgo.RecordHeader{{Key: "ce_id", Value: []byte("deposit-1")}}}
	produce(t, c, "deposits", bad, &kgo.Record{Key: []byte("key-1"), Value: []byte("good")})
	handled := newInbox()
	stop := consume(t, c, func(_ context.Context, m kafka.Message) error {
		if string(m.Value) == "bad" {
			return fmt.Errorf("deposit: %w", kafka.Poison(errors.New("no amount")))
		}
		handled.put(m)
		return nil
	})
	handled.wait(t, count(1))
	dead := topicOf(t, c, "dead", 1)[0]
	if string(dead.Key) != "key-1" || string(dead.Value) != "bad" {
		t.Errorf("%s: %s was moved", dead.Key, dead.Value)
	}
	for name, want := range map[string]string{
		"ce_id": "deposit-1", kafka.HeaderReason: "no amount", kafka.HeaderTopic: "deposits", kafka.HeaderPartition: "0", kafka.HeaderOffset: "0",
	} {
		if got := header(dead, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	stop()
}

// TestPoisonIsNotLost: while the dead-letter topic takes nothing, the message stays where it is.
func TestPoisonIsNotLost(t *testing.T) {
	t.Parallel()
	c := cluster(t, 1, "deposits", "dead")
	produce(t, c, "deposits", &kgo.Record{Value: []byte("bad")}, &kgo.Record{Value: []byte("good")})
	closed := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "dead", Err: kerr.TopicAuthorizationFailed, Count: -1})
	var tried sync.Once
	again := make(chan struct{})
	tries := 0
	handled := newInbox()
	consume(t, c, func(_ context.Context, m kafka.Message) error {
		if string(m.Value) == "bad" {
			if tries++; tries == 3 {
				tried.Do(func() { close(again) })
			}
			return kafka.Poison(errors.New("no amount"))
		}
		handled.put(m)
		return nil
	})
	<-again
	handled.mu.Lock()
	if len(handled.values) > 0 {
		t.Errorf("%v was handled before the message in front of it was moved", handled.values)
	}
	handled.mu.Unlock()
	closed.Remove()
	handled.wait(t, count(1))
	topicOf(t, c, "dead", 1)
}

// TestAFailureHoldsUpItsPartitionOnly: what fails is handled again before what is behind it; other
// partitions go on.
func TestAFailureHoldsUpItsPartitionOnly(t *testing.T) {
	t.Parallel()
	c := cluster(t, 2, "deposits", "dead")
	var list []*kgo.Record
	for i := range 20 {
		list = append(list, &kgo.Record{Partition: int32(i % 2), Value: fmt.Appendf(nil, "%d", i)})
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.DefaultProduceTopic("deposits"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), list...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	mended := make(chan struct{})
	other, slow := newInbox(), newInbox()
	consume(t, c, func(_ context.Context, m kafka.Message) error {
		if m.Partition == 1 {
			other.put(m)
			return nil
		}
		select {
		case <-mended:
			slow.put(m)
			return nil
		default:
			return errors.New("the database is away")
		}
	})
	other.wait(t, count(10))
	close(mended)
	slow.wait(t, count(10))
	if want := []string{"0", "2", "4", "6", "8", "10", "12", "14", "16", "18"}; !slices.Equal(slow.values, want) {
		t.Errorf("the slow partition was handled as %v", slow.values)
	}
}

// TestRebalance: while members come and go, each message is handled, those of a partition by one
// member at a time, and a handler that counts each ID once counts each message once.
func TestRebalance(t *testing.T) {
	t.Parallel()
	const messages, partitions = 1000, 6
	c := cluster(t, partitions, "deposits", "dead")
	produce(t, c, "deposits", numbered(messages, 50)...)
	handled := newInbox()
	var mu sync.Mutex
	busy, applied := map[int32]bool{}, map[string]bool{}
	handle := func(_ context.Context, m kafka.Message) error {
		mu.Lock()
		if busy[m.Partition] {
			t.Errorf("two members handle partition %d", m.Partition)
		}
		busy[m.Partition] = true
		mu.Unlock()
		defer func() {
			mu.Lock()
			busy[m.Partition], applied[m.ID] = false, true
			mu.Unlock()
			handled.put(m)
		}()
		return nil
	}
	first := consume(t, c, handle)
	handled.wait(t, distinct(messages/4))
	second := consume(t, c, handle)
	handled.wait(t, distinct(messages/2))
	first()
	third := consume(t, c, handle)
	handled.wait(t, distinct(messages))
	second()
	third()
	if len(applied) != messages {
		t.Errorf("%d ids were applied", len(applied))
	}
}

// TestALostPartition: a member that the group has fenced off ends the handler's context and commits
// nothing.
func TestALostPartition(t *testing.T) {
	t.Parallel()
	c := cluster(t, 1, "deposits", "dead")
	produce(t, c, "deposits", &kgo.Record{Value: []byte("1")})
	begun, ended := make(chan string, 10), make(chan error, 10)
	consume(t, c, func(ctx context.Context, m kafka.Message) error {
		begun <- m.ID
		if len(ended) > 0 {
			return nil
		}
		<-ctx.Done()
		ended <- ctx.Err()
		return nil // it has done its work; but its offset is no longer its own
	})
	first := <-begun
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.UnknownMemberID})
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler's context ended with %v", err)
	}
	if again := <-begun; again != first {
		t.Errorf("%s came after %s", again, first)
	}
}
