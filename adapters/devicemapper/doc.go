// Package devicemapper keeps volumes as thin devices of a dm-thin pool, each
// with an ext4 file system. It implements volume.Volumes.
//
// It talks to the kernel by the ioctls of /dev/mapper/control, so it needs root
// (CAP_SYS_ADMIN), the kernel's thin-pool target and the program mkfs.ext4, but
// neither dmsetup nor udev: it makes the nodes below /dev/mapper itself, and
// puts up with a udev that is faster.
//
// A file is a layer. Lowest first: control is the protocol, device a device with
// one target, pool the pool, thin a device of it, inventory the list of them as
// metadata reads it from the disk, mount a file system. find tells what there is,
// and volumes and destroy put the steps in an order that survives a crash at any
// point.
//
// Guarantees. A volume's name is its device's name. Its number in the pool is
// reserved durably (Numbers) before the kernel hears of it, so a device whose
// creation was interrupted is found again under its name. A volume is active
// when its device has a live table and a node and is not suspended; it is known
// when the pool has its number, which is asked by loading a table for it that is
// never resumed. Nothing is unmounted lazily. A pool that runs full fails writes with
// ENOSPC at once instead of holding them back.
//
// A pool belongs to one keeper of Numbers. A device that has none of its numbers
// is listed, as number-N, and can be destroyed like a volume unless it is active.
//
// Processes that share a pool may work beside one another; an exclusive flock
// of /dev/mapper/control keeps their shortest steps apart.
package devicemapper
