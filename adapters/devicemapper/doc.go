// Package devicemapper keeps volumes as thin devices of a dm-thin pool, each
// with an ext4 file system. It implements volume.Volumes.
//
// The package sends ioctls to /dev/mapper/control. It needs root (CAP_SYS_ADMIN), the
// kernel's thin-pool target and the program mkfs.ext4. It needs neither dmsetup nor udev:
// it creates the nodes below /dev/mapper itself, and accepts those that udev created first.
//
// Each file is a layer. From the lowest: control is the ioctl protocol, device a device with
// one target, pool the thin pool, thin a device of the pool, inventory the list of those
// devices, which metadata reads from the disk, and mount a file system. find reports what
// exists under a name. volumes and destroy order the steps so that a crash at any point can
// be repaired by repeating the call.
//
// Guarantees:
//
//   - A volume and its device have the same name. Numbers stores the device's number in the
//     pool before the kernel gets it, so a device whose creation was interrupted is found
//     again under its name.
//   - A volume is active if its device has a live table and a node and is not suspended.
//     It is known if the pool has its number. The package finds that out by loading a table
//     for the number, which it never resumes.
//   - Nothing is unmounted lazily.
//   - Writes to a full pool fail with ENOSPC at once. They do not wait for space.
//
// One Numbers owns all numbers of a pool. A device whose number it does not have is listed as
// number-N, and Destroy deletes it unless it is active.
//
// Several processes may use a pool at the same time. They hold an exclusive flock of
// /dev/mapper/control for the steps that must not overlap.
package devicemapper
