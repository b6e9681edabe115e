package devicemapper

import "context"

// Numbers stores the number of each volume in the pool: dm-thin identifies devices by numbers of
// 24 bits. Implementations must be safe for concurrent use, also by several processes.
//
// A number is chosen once and stays until it is released, so a name always means the same device.
// A hash of the name is a good choice. Hashes of 24 bits collide among a few thousand names, and
// the second name must get a free number, so the choice must be stored.
type Numbers interface {
	// Number returns the number of a name. If the name has none, Number chooses one that no
	// other name has and that is not in taken, the numbers of the devices in the pool. The
	// number must be stored durably before Number returns, because the kernel gets it next.
	Number(ctx context.Context, name string, taken []uint32) (uint32, error)
	// Release removes a name and its number. A name without a number is no error.
	Release(ctx context.Context, name string) error
	// Names returns every name with its number.
	Names(ctx context.Context) (map[string]uint32, error)
}

// MaxNumber is the largest number that a thin device can have.
const MaxNumber = 1<<24 - 1
