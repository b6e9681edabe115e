package registration

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

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

// etag is the entity tag of a registration at a version.
func etag(registrationID string, version int64) string {
	return strconv.Quote(registrationID + ":" + strconv.FormatInt(version, 10))
}

var (
	errMatch         = errors.New(`If-Match is not one ETag of a status, as in If-Match: "0197…:3"`)
	errMatchRegister = errors.New("If-Match does not go with register, which begins a registration: leave it out")
)

// parseETag reads the values of If-Match: one strong tag, of ours.
func parseETag(values []string) (*Seen, error) {
	if len(values) != 1 {
		return nil, errMatch
	}
	text, err := strconv.Unquote(strings.TrimSpace(values[0]))
	id, version, found := strings.Cut(text, ":")
	if err != nil || !found {
		return nil, errMatch
	}
	n, err := strconv.ParseInt(version, 10, 64)
	if err != nil || n < 1 {
		return nil, errMatch
	}
	return &Seen{id, n}, nil
}
