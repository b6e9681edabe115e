package database

import (
	"encoding/json"
	"time"
)

// Key names the row that a registration has of its node.
type Key struct{ NodeID, RegistrationID string }

// Row is a row of node_registrations, without what the database itself knows:
// when the node was registered and last heard of, and which daemon heartbeats
// for it.
type Row struct {
	Key
	DeploymentID  string
	Environment   string
	NetworkID     string
	Record        json.RawMessage // postgres_record of the payload
	CorrelationID string
}

// Stale is a row whose node was not heard of for too long.
type Stale struct {
	Key
	Environment   string
	LastHeartbeat time.Time
}

// CriticalService is a service that is critical.
type CriticalService struct{ ServiceID, RegistrationID string }
