package registration

import (
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// Seen is a registration as a caller has seen it.
type Seen struct {
	RegistrationID string
	Version        int64
}

// MatchError says that a trigger was not fired, since the registration is not as its
// caller has seen it any more, and how it is now.
type MatchError struct {
	Node    string
	Now     Seen
	State   string
	Changed bool // it is another registration
}

func (e *MatchError) Error() string {
	what := "the registration has changed"
	if e.Changed {
		what = "the node has another registration"
	}
	return fmt.Sprintf("node %s: %s since it was read: it is at version %d in %s: read its status and decide again", e.Node, what, e.Now.Version, e.State)
}

// Is makes errors.Is(err, engine.ErrVersion) hold.
func (e *MatchError) Is(target error) bool { return target == engine.ErrVersion }
