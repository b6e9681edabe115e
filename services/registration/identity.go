package registration

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// nextID makes the id of a node's next registration: a UUIDv7 that is larger
// than that of the last one, "" for none, whatever the clock says. That is the
// fence: of two registrations of a node the larger id is the later one.
func nextID(last string, now time.Time) (fsm.UUID, error) {
	next := newID(now)
	if next.String() > last {
		return next, nil
	}
	u, err := fsm.ParseUUID(last)
	if err != nil {
		return fsm.UUID{}, fmt.Errorf("last registration: %w", err)
	}
	return after(u), nil
}

// newID makes a UUIDv7: 48 bits of milliseconds, the rest random.
func newID(now time.Time) (u fsm.UUID) {
	_, _ = rand.Read(u[:]) // never fails: it ends the process instead
	ms := uint64(max(now.UnixMilli(), 0))
	for i := range 6 {
		u[i] = byte(ms >> (40 - 8*i))
	}
	u[6], u[8] = u[6]&0x0f|0x70, u[8]&0x3f|0x80
	return u
}

// after returns the next larger UUIDv7. The version and the variant stay.
func after(u fsm.UUID) fsm.UUID {
	for i := len(u) - 1; i >= 0; i-- {
		var fixed byte // bits that do not count
		switch i {
		case 6:
			fixed = 0xf0
		case 8:
			fixed = 0xc0
		}
		counted := (u[i] &^ fixed) + 1
		u[i] = u[i]&fixed | counted&^fixed
		if counted&^fixed != 0 {
			break
		}
	}
	return u
}
