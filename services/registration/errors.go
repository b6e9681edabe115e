package registration

import (
	"github.com/fsmgen/fsmgen/adapters/discovery"
	"github.com/fsmgen/fsmgen/services/registration/database"
)

// What callers of Registry, Discovery and Catalog test for. They wrap their
// cause and say what to do.
var (
	ErrRefused       = discovery.ErrRefused
	ErrUnreachable   = discovery.ErrUnreachable
	ErrNotPermitted  = discovery.ErrNotPermitted
	ErrServer        = discovery.ErrServer
	ErrInvalid       = discovery.ErrInvalid
	ErrNotAdvertised = discovery.ErrNotAdvertised
	// ErrNotRegistered: the registration has no row.
	ErrNotRegistered = database.ErrNotRegistered
	// ErrSuperseded: another registration of the node that has not ended has
	// the row.
	ErrSuperseded = database.ErrSuperseded
)
