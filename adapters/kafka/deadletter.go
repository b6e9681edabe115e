package kafka

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The headers that a message gets in the dead-letter topic, beside its own.
const (
	HeaderReason    = "fsm_reason"    // why it can't be handled
	HeaderTopic     = "fsm_topic"     // where it was
	HeaderPartition = "fsm_partition" // a decimal number
	HeaderOffset    = "fsm_offset"    // a decimal number
)

// bury moves a message to the dead-letter topic: the same key, value and headers, with the reason and
// the place where it was.
func (c *Consumer) bury(ctx context.Context, r *kgo.Record, reason error) error {
	dead := &kgo.Record{Topic: c.config.DeadLetters, Key: r.Key, Value: r.Value, Headers: slices.Clone(r.Headers)}
	header := func(name, value string) {
		dead.Headers = append(dead.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	header(HeaderReason, reason.Error())
	header(HeaderTopic, r.Topic)
	header(HeaderPartition, strconv.Itoa(int(r.Partition)))
	header(HeaderOffset, strconv.FormatInt(r.Offset, 10))
	if err := c.client.ProduceSync(ctx, dead).FirstErr(); err != nil {
		return fmt.Errorf("move message %s to topic %q: %w", position(r), c.config.DeadLetters, err)
	}
	c.config.Logger.ErrorContext(ctx, "kafka: message can't be handled", "message", position(r), "moved_to", c.config.DeadLetters, "reason", reason)
	return nil
}
