package kafka

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// owner serves the messages of one partition in their order.
type owner struct {
	at     place
	cancel context.CancelCauseFunc
	ended  chan struct{}

	mu      sync.Mutex
	waiting []*kgo.Record
	more    chan struct{} // something waits
	paused  bool          // the partition is not fetched
}

// add lets messages wait, and pauses the partition if limit or more do.
func (o *owner) add(client *kgo.Client, records []*kgo.Record, limit int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = append(o.waiting, records...)
	if len(o.waiting) >= limit && !o.paused {
		o.paused = true
		client.PauseFetchPartitions(o.at.fetch())
	}
	select {
	case o.more <- struct{}{}:
	default:
	}
}

// take returns what is served next, at most batch messages. When nothing waits, the partition is
// fetched again.
func (o *owner) take(client *kgo.Client, batch int) []*kgo.Record {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := min(batch, len(o.waiting))
	taken := o.waiting[:n:n]
	o.waiting = o.waiting[n:]
	if len(o.waiting) == 0 && o.paused {
		o.paused = false
		client.ResumeFetchPartitions(o.at.fetch())
	}
	return taken
}

// run serves until ctx ends.
func (o *owner) run(ctx context.Context, client *kgo.Client, batch int, serve func(context.Context, []*kgo.Record)) {
	defer close(o.ended)
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.more:
		}
		for taken := o.take(client, batch); len(taken) > 0 && ctx.Err() == nil; taken = o.take(client, batch) {
			serve(ctx, taken)
		}
	}
}
