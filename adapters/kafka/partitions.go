package kafka

import (
	"context"
	"errors"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// place is a partition of a topic.
type place struct {
	topic     string
	partition int32
}

// fetch is the place as the client takes it.
func (p place) fetch() map[string][]int32 { return map[string][]int32{p.topic: {p.partition}} }

// partitions are what this member of the group owns. Each has a goroutine, so a slow partition holds
// up no other.
type partitions struct {
	serve func(context.Context, []*kgo.Record)
	batch int // how many messages are served at a time
	limit int // how many wait for a goroutine before their partition is no longer fetched

	mu    sync.Mutex
	owned map[place]*owner
}

// waitingBatches is the limit of what waits in a partition, in batches. To pause a partition costs a
// round of fetches, so that should be rare.
const waitingBatches = 10

func newPartitions(batch int, serve func(context.Context, []*kgo.Record)) *partitions {
	return &partitions{serve: serve, batch: batch, limit: waitingBatches * batch, owned: map[place]*owner{}}
}

// assigned starts a goroutine for each new partition.
func (ps *partitions) assigned(_ context.Context, client *kgo.Client, assigned map[string][]int32) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for topic, numbers := range assigned {
		for _, number := range numbers {
			at := place{topic, number}
			ctx, cancel := context.WithCancelCause(context.Background())
			o := &owner{at: at, more: make(chan struct{}, 1), cancel: cancel, ended: make(chan struct{})}
			ps.owned[at] = o
			client.ResumeFetchPartitions(at.fetch()) // it may have been lost while it was paused
			go o.run(ctx, client, ps.batch, ps.serve)
		}
	}
}

// Why a goroutine ends.
var (
	errRevoked = errors.New("the partition goes to another member") // after what was handled is committed
	errLost    = errors.New("the partition has gone to another member")
)

func (ps *partitions) revoked(_ context.Context, _ *kgo.Client, revoked map[string][]int32) {
	ps.end(revoked, errRevoked)
}

func (ps *partitions) lost(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
	ps.end(lost, errLost)
}

// end ends the goroutines of partitions and waits for them.
func (ps *partitions) end(ending map[string][]int32, why error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	var owners []*owner
	for topic, numbers := range ending {
		for _, number := range numbers {
			if o, ok := ps.owned[place{topic, number}]; ok {
				delete(ps.owned, o.at)
				o.cancel(why)
				owners = append(owners, o)
			}
		}
	}
	for _, o := range owners {
		<-o.ended
	}
}

// add gives messages to the goroutine of their partition. It does not block.
func (ps *partitions) add(client *kgo.Client, at place, records []*kgo.Record) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if o, ok := ps.owned[at]; ok {
		o.add(client, records, ps.limit)
	}
}
