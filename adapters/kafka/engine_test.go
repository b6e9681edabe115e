package kafka_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fsmgen/fsmgen/adapters/kafka"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/enginetest"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

var dealID = fsm.UUID{0x5f, 0x0c, 0x3a, 0x0e, 15: 1}

// TestDealsOverKafka: deposits come in by Kafka, each of them twice, and what the deal does goes out by
// Kafka, over a broker that refuses the first messages. Each deposit is applied once, and each step
// is in the topic, in the order of the history.
func TestDealsOverKafka(t *testing.T) {
	t.Parallel()
	c := cluster(t, 2, "events", "deposits", "dead")
	publisher := publisher(t, c, func(config *kafka.PublisherConfig) { config.Patience = 2 * time.Second })

	fake := enginetest.NewFake(t, deal.Define[*sql.Tx](nil, deal.DefaultParams()))
	fake.On("generate_deposit_address", enginetest.Answer(deal.AddressReady{DepositAddress: "EQ-1"}))
	refusals := 0
	fake.On("deal.events", func(d fsm.Dispatch) (fsm.Payload, error) {
		err := publisher.Publish(t.Context(), d)
		if errors.Is(err, kafka.ErrUnreachable) {
			refusals++
		}
		return nil, err
	})
	e := enginetest.New(t, fake)
	deals := deal.In(e)
	_, created := deals.Create(t.Context(), dealID, deal.Create{OwnerID: 8, PriceNano: 100}, deal.ByAdvertiser(7))
	_, offered := deals.SubmitOffer(t.Context(), dealID, deal.ByAdvertiser(7))
	_, taken := deals.Accept(t.Context(), dealID, deal.ByOwner(8))
	if err := errors.Join(created, offered, taken); err != nil {
		t.Fatal(err)
	}

	fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "events", Err: kerr.NotEnoughReplicas, Count: -1})
	enginetest.Drain(t, e)
	if refusals == 0 {
		t.Error("no message met the broker that refuses")
	}
	fault.Remove()
	e.Clock.Advance(time.Minute)
	enginetest.Drain(t, e)

	deposit := func(tx string) *kgo.Record {
		value, err := json.Marshal(deal.DepositConfirmed{TxHash: tx, AmountNano: 100})
		if err != nil {
			t.Fatal(err)
		}
		return &kgo.Record{Key: []byte(dealID.String()), Value: value}
	}
	produce(t, c, "deposits", deposit("tx-1"), deposit("tx-1"), &kgo.Record{Value: []byte("{")}, deposit("tx-2"), deposit("tx-2"))
	handled := newInbox()
	stop := consume(t, c, func(ctx context.Context, m kafka.Message) error {
		defer handled.put(m)
		var e deal.DepositConfirmed
		if err := json.Unmarshal(m.Value, &e); err != nil {
			return kafka.Poison(fmt.Errorf("deposit: %w", err))
		}
		_, err := deals.DepositConfirmed(ctx, dealID, e, deal.BySystem())
		return err
	})
	handled.wait(t, count(5))
	topicOf(t, c, "dead", 1) // a member that is stopped before leaves the message to the next one
	stop()
	enginetest.Drain(t, e)

	steps, err := deals.History(t.Context(), dealID, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	deposits := 0
	for _, step := range steps {
		if step.Row.Event == "DEPOSIT_CONFIRMED" {
			deposits++
		}
	}
	if deposits != 2 {
		t.Errorf("%d deposits were applied, want 2", deposits)
	}
	asked := map[string]bool{}
	var order []string
	for _, d := range fake.Calls("deal.events") {
		if !asked[d.ID] {
			asked[d.ID] = true
			order = append(order, d.ID)
		}
	}
	published := topicOf(t, c, "events", len(order))
	for i, r := range published {
		if got := header(r, "ce_id"); got != order[i] {
			t.Errorf("message %d of the topic is %s, want %s", i, got, order[i])
		}
	}
}
