package registration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// MaxPayload is how many bytes a registration payload may have.
const MaxPayload = 256 << 10

// ErrTooLarge says that a payload has more bytes than MaxPayload.
var ErrTooLarge = errors.New("payload is too large")

// ErrPayload says that a text is no payload at all: not one JSON object, or
// that of another node. Whatever else is wrong with a payload makes a
// registration that failed, with the reason.
var ErrPayload = errors.New("no registration payload")

// flatten lifts the nested payload of document 001 (Context Preprocessing for
// Nested Fields) to the fields that guards can read. What is empty, null or of
// another type than it has to be is absent, so that a required datum is missing;
// a tag that is no text becomes the empty one, and a check is taken as it is:
// validation refuses both. So nothing wrong is dropped without a word.
func flatten(node string, payload json.RawMessage) (registration.Register, error) {
	var none registration.Register
	if len(payload) > MaxPayload {
		return none, fmt.Errorf("%w: %d bytes, %d are allowed", ErrTooLarge, len(payload), MaxPayload)
	}
	if len(payload) == 0 || string(payload) == "null" {
		return none, nil // the machine answers: its guard wants a payload
	}
	var in map[string]json.RawMessage
	if err := json.Unmarshal(payload, &in); err != nil || in == nil {
		return none, fmt.Errorf("%w: not a JSON object", ErrPayload)
	}
	if said, ok := in["node_id"]; ok && text(said).V != node {
		return none, fmt.Errorf("%w: node_id is %s, not %q", ErrPayload, fsm.Message(string(said), 100), node)
	}
	if bytes.Contains(payload, []byte(`\u0000`)) {
		return none, fmt.Errorf("%w: it has the character NUL, which no database takes", ErrPayload)
	}
	whole, err := fsm.ParseJSON(payload)
	if err != nil {
		return none, fmt.Errorf("%w: %w", ErrPayload, err)
	}
	return registration.Register{
		Payload:         fsm.Some(whole),
		DeploymentID:    text(in["deployment_id"]),
		Environment:     text(in["environment"]),
		NetworkID:       text(in["network_id"]),
		ConsulServiceID: text(in["consul_service_id"]), ConsulServiceName: text(in["consul_service_name"]),
		ConsulTags: tags(in["consul_tags"]), ConsulHealthCheck: value(in["consul_health_check"]),
		PostgresRecord: object(in["postgres_record"]),
	}, nil
}

// corrected is a payload as CORRECT_PAYLOAD takes it.
func corrected(r registration.Register) registration.CorrectPayload {
	return registration.CorrectPayload{
		DeploymentID: r.DeploymentID, Environment: r.Environment, NetworkID: r.NetworkID,
		ConsulServiceID: r.ConsulServiceID, ConsulServiceName: r.ConsulServiceName,
		ConsulTags: r.ConsulTags, ConsulHealthCheck: r.ConsulHealthCheck, PostgresRecord: r.PostgresRecord,
	}
}

// text reads a string that every column can hold.
func text(raw json.RawMessage) fsm.Optional[string] {
	var s string
	if json.Unmarshal(raw, &s) != nil || s == "" || !storable(s) {
		return fsm.None[string]()
	}
	return fsm.Some(s)
}

// tags reads a list of strings.
func tags(raw json.RawMessage) fsm.Optional[[]string] {
	if len(raw) == 0 || string(raw) == "null" {
		return fsm.None[[]string]()
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return fsm.Some([]string{""})
	}
	out := make([]string, len(list))
	for i, item := range list {
		out[i] = text(item).V
	}
	return fsm.Some(out)
}

// value reads any JSON but null.
func value(raw json.RawMessage) fsm.Optional[fsm.JSON] {
	if len(raw) == 0 || string(raw) == "null" {
		return fsm.None[fsm.JSON]()
	}
	j, err := fsm.ParseJSON(raw)
	if err != nil {
		return fsm.None[fsm.JSON]()
	}
	return fsm.Some(j)
}

// object reads a JSON object.
func object(raw json.RawMessage) fsm.Optional[fsm.JSON] {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil || o == nil {
		return fsm.None[fsm.JSON]()
	}
	return value(raw)
}
