// Package kafka publishes effects to Kafka, and turns Kafka's messages into events.
//
//	publisher, err := kafka.NewPublisher(kafka.PublisherConfig{
//		Brokers: []string{"10.0.0.7:9092"},
//		Source:  "/deals",
//		Topics:  map[string]string{"deal.events": "deal.events"},
//	})
//	…
//	func (h handlers) DealEvents(ctx context.Context, d fsm.Dispatch, _ deal.DealEventsEffect) error {
//		return h.publisher.Publish(ctx, d)
//	}
//
// # What it guarantees
//
// [Publisher.Publish] returns nil only after all in-sync replicas have the message. The engine
// repeats what failed, so a message can be in the topic twice: both have the same ce_id, and
// consumers keep the first. Kafka's own idempotence removes duplicates of one producer session
// only. The key of a message is the id of its record. The engine delivers the messages of one
// record and destination one at a time, so they keep their order.
//
// [Consumer.Run] commits the offset of a message after its handler has returned nil, or after
// the dead-letter topic has it. A handler fires its event with [Message.ID], or with a key of the
// message's content, as the idempotency key. So an event is applied once, however often Kafka
// delivers the message. Messages of one partition are handled in order, one at a time. A consumer
// that lost its partition commits nothing.
//
// # What it needs
//
// Write access to the topics of the effects. The consumer needs read access to its topics and its
// group, and write access to the dead-letter topic. Topics are not created.
//
// # What it must not know
//
// What an effect or an event means.
package kafka
