// Package directory keeps volumes as plain directories, for machines without
// device-mapper or root. It implements volume.Volumes.
//
//	volumes/NAME/root     the content
//	volumes/NAME/mounted  a marker: the volume is mounted
//	making/RANDOM         a volume that is being created
//	trash/RANDOM          a volume that is being deleted
//
// # What it guarantees
//
// One rename makes a complete volume visible, and one rename removes it. So a volume exists
// completely or not at all, wherever a process dies. New removes what dead processes left in
// making and trash. A flock marks what a live process works on. A volume is active as soon as it
// exists; it is never volume.Known. The path of its content never changes. A mounted volume has a
// marker, which a reboot does not remove.
//
// A snapshot shares the blocks of its origin's files if the file system can do that (FICLONE:
// btrfs, xfs), and else is a full copy. It keeps modes, times, links, holes and extended
// attributes, and owners if the process is root.
//
// # What it does not guarantee
//
// Volumes are not isolated. A process that has a file of a volume open does not prevent that the
// volume is destroyed, and any volume can fill the disk.
package directory
