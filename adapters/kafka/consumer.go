package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// ConsumerConfig configures a Consumer.
type ConsumerConfig struct {
	// Brokers are the addresses of some brokers, "host:port". Required.
	Brokers []string
	// Group is the consumer group: its members share the partitions. Required.
	Group string
	// Topics are what is consumed. Required.
	Topics []string
	// DeadLetters is the topic of messages that can't be handled. Required.
	DeadLetters string
	// Handle handles one message. After nil the offset is committed. A *PoisonError moves the
	// message to DeadLetters. After any other error the message is handled again, with backoff, and
	// its partition waits for it. Handle must be safe for concurrent use: partitions are handled
	// side by side. Its context ends when the partition is lost. Required.
	Handle func(ctx context.Context, m Message) error
	// Backoff is the pause before the n-th repeat, from 1. Default: 100 ms, doubled up to 30 s, with
	// jitter.
	Backoff func(n int) time.Duration
	// Batch is how many messages of a partition are handled before their offset is committed.
	// Default: 100.
	Batch int
	// Logger gets what is repeated and what is moved to DeadLetters. Default: slog.Default.
	Logger *slog.Logger
	// Options are further options of the client: TLS, credentials, a balancer.
	Options []kgo.Opt
}

const (
	defaultBatch = 100
	// fetchWait is how long a broker waits for a first message. A partition that was paused is
	// fetched again after that time at the latest.
	fetchWait = 500 * time.Millisecond
)

func (c ConsumerConfig) withDefaults() ConsumerConfig {
	if c.Backoff == nil {
		c.Backoff = backoff
	}
	c.Batch = cmp.Or(c.Batch, defaultBatch)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

func (c ConsumerConfig) validate() error {
	switch {
	case len(c.Brokers) == 0:
		return errors.New("kafka: ConsumerConfig.Brokers is empty: name at least one broker as host:port")
	case c.Group == "":
		return errors.New("kafka: ConsumerConfig.Group is empty: the group keeps the offsets")
	case len(c.Topics) == 0:
		return errors.New("kafka: ConsumerConfig.Topics is empty: name what is consumed")
	case c.DeadLetters == "":
		return errors.New("kafka: ConsumerConfig.DeadLetters is empty: a message that can't be handled needs a topic")
	case c.Handle == nil:
		return errors.New("kafka: ConsumerConfig.Handle is missing")
	case c.Batch < 0:
		return errors.New("kafka: ConsumerConfig.Batch is negative")
	}
	for _, topic := range c.Topics {
		if topic == c.DeadLetters {
			return fmt.Errorf("kafka: the topic %q is consumed and is the topic of dead letters: they would come back", topic)
		}
	}
	return nil
}

// backoff doubles from 100 ms up to 30 s, of which a random half is waited at least.
func backoff(n int) time.Duration {
	const first, longest, doublings = 100 * time.Millisecond, 30 * time.Second, 9
	pause := min(first<<min(n-1, doublings), longest)
	return pause/2 + rand.N(pause/2)
}

// Consumer turns the messages of topics into events. Run may be called once.
type Consumer struct {
	config ConsumerConfig
	client *kgo.Client
	owned  *partitions
}

// NewConsumer returns a consumer. It does not connect: Run does.
func NewConsumer(config ConsumerConfig) (*Consumer, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	c := &Consumer{config: config.withDefaults()}
	c.owned = newPartitions(c.config.Batch, c.serve)
	options := append([]kgo.Opt{
		kgo.SeedBrokers(config.Brokers...), kgo.ClientID("fsmgen"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), // a new group misses nothing
		kgo.FetchMaxWait(fetchWait),
	}, config.Options...)
	options = append(options,
		kgo.ConsumerGroup(config.Group), kgo.ConsumeTopics(config.Topics...),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(c.owned.assigned), kgo.OnPartitionsRevoked(c.owned.revoked), kgo.OnPartitionsLost(c.owned.lost),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), // for dead letters
	)
	var err error
	if c.client, err = kgo.NewClient(options...); err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	return c, nil
}

// Run consumes until ctx ends, and then leaves the group: what was fetched and not begun is left to
// others. Its error is that of ctx. Errors of brokers are logged, and repeated by the client.
func (c *Consumer) Run(ctx context.Context) error {
	defer c.client.CloseAllowingRebalance()
	for {
		fetches := c.client.PollRecords(ctx, c.config.Batch)
		if ctx.Err() != nil || fetches.IsClientClosed() {
			return fmt.Errorf("kafka: consume %v: %w", c.config.Topics, cmp.Or(ctx.Err(), kgo.ErrClientClosed))
		}
		fetches.EachError(func(topic string, partition int32, err error) {
			c.config.Logger.WarnContext(ctx, "kafka: fetch failed", "topic", topic, "partition", partition, "error", err)
		})
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if len(p.Records) > 0 {
				c.owned.add(c.client, place{p.Topic, p.Partition}, p.Records)
			}
		})
		c.client.AllowRebalance()
	}
}

// serve handles messages of a partition in order and commits behind them. It ends early when the
// partition is revoked, and commits what it has handled; or when it is lost, and commits nothing.
func (c *Consumer) serve(ctx context.Context, records []*kgo.Record) {
	handled := 0
	for _, r := range records {
		if !c.handle(ctx, r) {
			break
		}
		handled++
	}
	if handled == 0 || errors.Is(context.Cause(ctx), errLost) {
		return
	}
	last := records[handled-1]
	if err := c.client.CommitRecords(context.WithoutCancel(ctx), last); err != nil {
		c.config.Logger.WarnContext(ctx, "kafka: commit failed: the messages are delivered again", "message", position(last), "error", err)
	}
}

// handle handles a message until that succeeds, and reports false if the partition was taken away before.
func (c *Consumer) handle(ctx context.Context, r *kgo.Record) bool {
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return false
		}
		err := c.config.Handle(ctx, message(r))
		var poison *PoisonError
		if errors.As(err, &poison) {
			err = c.bury(ctx, r, poison.Err)
		}
		if err == nil {
			return true
		}
		c.config.Logger.WarnContext(ctx, "kafka: message is handled again", "message", position(r), "failures", n, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(c.config.Backoff(n)):
		}
	}
}
