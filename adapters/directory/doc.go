// Package directory keeps volumes as plain directories, for machines without
// device-mapper or root. It implements volume.Volumes.
//
//	volumes/NAME/root     the content
//	volumes/NAME/mounted  a marker: the volume is mounted
//	making/RANDOM         what is being made
//	trash/RANDOM          what is being deleted
//
// Guarantees. A volume appears by one rename of what was made completely, and
// disappears by one rename, so whatever process dies at whatever point, a
// volume is there wholly or not at all. What a dead process left in making and
// trash is removed by the next one that opens the place; a flock tells it from
// what a living one is about. A volume is active as soon as it exists, and known
// never. Where its content is visible does not change; being mounted is a
// marker, which a reboot does not remove.
//
// A snapshot shares the blocks of its origin's files where the file system can
// (FICLONE: btrfs, xfs), and is a full copy elsewhere. Modes, times, links,
// holes and extended attributes are kept, and owners if the process is root.
// Nothing isolates a volume: a process that has one of its files open neither
// notices nor prevents its end, and all volumes together may fill the disk.
package directory
