package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// PublisherConfig configures a Publisher.
type PublisherConfig struct {
	// Brokers are the addresses of some brokers, "host:port". Required.
	Brokers []string
	// Source is the ce_source of every message: a URI reference that names the service, such as
	// "/deals". Required.
	Source string
	// Topics are the topics by effect. Required; an effect that is not in it is refused.
	Topics map[string]string
	// MaxBytes limits the value of a message. Default: 1,000,000, below the default of brokers.
	MaxBytes int
	// Patience is how long a message may wait for its acknowledgement before Publish returns
	// ErrUnreachable. Default: 30 s. It should be shorter than the lease of the engine's workers.
	Patience time.Duration
	// Options are further options of the client: TLS, credentials, a logger. They can't weaken
	// the acknowledgements, which are set after them.
	Options []kgo.Opt
}

const (
	defaultMaxBytes = 1_000_000
	defaultPatience = 30 * time.Second
)

func (c PublisherConfig) withDefaults() PublisherConfig {
	if c.MaxBytes == 0 {
		c.MaxBytes = defaultMaxBytes
	}
	if c.Patience == 0 {
		c.Patience = defaultPatience
	}
	return c
}

func (c PublisherConfig) validate() error {
	switch {
	case len(c.Brokers) == 0:
		return errors.New("kafka: PublisherConfig.Brokers is empty: name at least one broker as host:port")
	case c.Source == "":
		return errors.New("kafka: PublisherConfig.Source is empty: name the service, for instance \"/deals\"")
	case len(c.Topics) == 0:
		return errors.New("kafka: PublisherConfig.Topics is empty: give each effect its topic")
	case c.MaxBytes < 0, c.Patience < 0:
		return errors.New("kafka: PublisherConfig has a negative limit")
	}
	for effect, topic := range c.Topics {
		if topic == "" {
			return fmt.Errorf("kafka: PublisherConfig.Topics has no topic for the effect %s", effect)
		}
	}
	return nil
}

// Publisher publishes effects. It is safe for concurrent use.
type Publisher struct {
	config PublisherConfig
	client *kgo.Client
}

// NewPublisher returns a publisher. It does not connect: the first message does.
func NewPublisher(config PublisherConfig) (*Publisher, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	options := append([]kgo.Opt{kgo.SeedBrokers(config.Brokers...), kgo.ClientID("fsmgen")}, config.Options...)
	options = append(options,
		kgo.RequiredAcks(kgo.AllISRAcks()), // idempotence, which is the default, needs them too
		kgo.RecordDeliveryTimeout(config.Patience),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), // by the hash of the key, as other clients do
	)
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	return &Publisher{config: config, client: client}, nil
}

// Publish publishes the payload of an effect to the effect's topic, with the record's id as key,
// and blocks until all in-sync replicas have it. Its errors are those of this package. What a
// repeat would meet again is an *engine.PermanentError.
func (p *Publisher) Publish(ctx context.Context, d fsm.Dispatch) error {
	topic, ok := p.config.Topics[d.Effect]
	if !ok {
		return &engine.PermanentError{Err: fmt.Errorf("publish message %s: %w for the effect %s of machine %s: name it in PublisherConfig.Topics", d.ID, ErrNoTopic, d.Effect, d.Machine)}
	}
	if len(d.Payload) > p.config.MaxBytes {
		return published(d.ID, topic, fmt.Errorf("%w: %d bytes, and the limit is %d", ErrTooLarge, len(d.Payload), p.config.MaxBytes))
	}
	if err := p.client.ProduceSync(ctx, record(d, topic, p.config.Source)).FirstErr(); err != nil {
		return published(d.ID, topic, err)
	}
	return nil
}

// Ping reports whether a broker answers: for readiness checks.
func (p *Publisher) Ping(ctx context.Context) error {
	if err := p.client.Ping(ctx); err != nil {
		return fmt.Errorf("kafka: no broker answers: %w", err)
	}
	return nil
}

// Close closes the connections. Messages on their way fail.
func (p *Publisher) Close() { p.client.Close() }
