package kafka

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// The headers of the binary mode of CloudEvents 1.0 (Kafka protocol binding, section 3.2). The
// correlation id is an extension attribute.
const (
	headerSpecVersion = "ce_specversion"
	headerID          = "ce_id"
	headerType        = "ce_type"
	headerSource      = "ce_source"
	headerSubject     = "ce_subject"
	headerTime        = "ce_time"
	headerCorrelation = "ce_correlationid"
	headerContentType = "content-type"
)

// Message is a Kafka message as a handler sees it.
type Message struct {
	// ID is the same for every delivery: the ce_id of the message, or "topic/partition/offset" of
	// a message without one.
	ID          string
	Type        string    // ce_type; "": the message has none
	Source      string    // ce_source; "": the message has none
	Time        time.Time // ce_time; without it the timestamp of the message
	Correlation string    // "": the message has none
	Key, Value  []byte
	Topic       string
	Partition   int32
	Offset      int64
}

// record returns the Kafka message of an effect. Its timestamp is the time of publishing, from which
// the client counts its timeout; ce_time is the time of the step.
func record(d fsm.Dispatch, topic, source string) *kgo.Record {
	r := &kgo.Record{Topic: topic, Key: []byte(d.Record), Value: d.Payload}
	header := func(name, value string) {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	header(headerSpecVersion, "1.0")
	header(headerID, d.ID)
	header(headerType, d.Machine+"."+d.Effect)
	header(headerSource, source)
	header(headerSubject, d.Record)
	header(headerTime, d.At.UTC().Format(time.RFC3339Nano))
	header(headerContentType, "application/json")
	if d.Correlation != "" {
		header(headerCorrelation, d.Correlation)
	}
	return r
}

// message returns what a handler gets of r.
func message(r *kgo.Record) Message {
	m := Message{
		ID: position(r), Time: r.Timestamp, Key: r.Key, Value: r.Value,
		Topic: r.Topic, Partition: r.Partition, Offset: r.Offset,
	}
	for _, h := range r.Headers {
		switch value := string(h.Value); h.Key {
		case headerID:
			if value != "" {
				m.ID = value
			}
		case headerType:
			m.Type = value
		case headerSource:
			m.Source = value
		case headerCorrelation:
			m.Correlation = value
		case headerTime:
			if at, err := time.Parse(time.RFC3339Nano, value); err == nil {
				m.Time = at
			}
		}
	}
	return m
}

// position names a message by its place: "topic/partition/offset".
func position(r *kgo.Record) string { return fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset) }
