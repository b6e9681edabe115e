package registration

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// nextID makes the id of a node's next registration: a UUIDv7 that is larger
// than any id that the node had, whatever the clock says. That is the fence: of
// two registrations of a node the larger id is the later one.
func nextID(ctx context.Context, q querier, node string, now time.Time) (fsm.UUID, error) {
	next := newID(now)
	var text string
	found, err := one(ctx, q, "SELECT CAST(registration_id AS text) FROM registration_records WHERE node_id = $1 ORDER BY registration_id DESC LIMIT 1",
		[]any{node}, &text)
	if err != nil || !found {
		return next, err
	}
	last, err := fsm.ParseUUID(text)
	if err != nil {
		return fsm.UUID{}, fmt.Errorf("last registration of node %s: %w", node, err)
	}
	if next.String() > last.String() {
		return next, nil
	}
	return after(last), nil
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
