package devicemapper

import "context"

// Numbers keeps the number of each volume in the pool: dm-thin knows devices by numbers of 24 bits
// only. A number must be stored durably when Number returns, because the kernel gets it next.
//
// A number is chosen once and stays until it is released, so a name always means the same device.
// It is derived from a hash of the name. Hashes of 24 bits collide among a few thousand names; the
// second name gets the next free number, so the choice must be stored.
type Numbers interface {
	// Number returns the number of a name, and reserves one first if it has none:
	// none that another name has, even if several calls ask at the same time, and none of
	// taken, which are those of devices that the pool has.
	Number(ctx context.Context, name string, taken []uint32) (uint32, error)
	// Release forgets a name. One that is unknown is no error.
	Release(ctx context.Context, name string) error
	// Names returns every name with its number.
	Names(ctx context.Context) (map[string]uint32, error)
}

// MaxNumber is the largest number of a thin device.
const MaxNumber = 1<<24 - 1
