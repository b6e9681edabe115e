package registration

import (
	"context"
	"encoding/json"
)

// Registry is the table node_registrations: which node is registered, and when
// it was last heard of. Every method is idempotent and a transaction of its own.
//
// An error is one of errors.go; whether a row was changed is unknown after
// ErrUnreachable and ErrServer alone.
type Registry interface {
	// Upsert writes the row of a node, as heard of now. A row that an earlier
	// registration left is replaced. ErrSuperseded: a later one has the row.
	Upsert(ctx context.Context, r Row) error
	// Heartbeat notes that the node was heard of now. ErrNotRegistered: the row
	// is not there, or another registration has it.
	Heartbeat(ctx context.Context, nodeID, registrationID string) error
	// Delete removes the row of a node if it is that of the registration. One
	// that is not there is gone already, and one of another registration stays:
	// neither is an error.
	Delete(ctx context.Context, nodeID, registrationID string) error
}

// Row is a row of node_registrations, without what the registry itself notes:
// when the node was registered, and when it was last heard of.
type Row struct {
	NodeID         string
	RegistrationID string
	DeploymentID   string
	Environment    string
	NetworkID      string
	Record         json.RawMessage // postgres_record of the payload
}
