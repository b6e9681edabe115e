//go:build unix

package volumetest

import (
	"testing"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// Open makes a driver with an empty place of its own, which the end of the test
// removes.
type Open func(t *testing.T) (volume.Volumes, Tools)

// Tools do to a driver's place what the driver itself can't.
type Tools struct {
	// Reopen returns a driver over the same place, as a new process would have.
	// The one before may be used on, as one of another process. The driver calls
	// step before each step that changes something, and ends the call with its
	// error, without cleaning up.
	Reopen func(step func(point string) error) volume.Volumes
	// Reboot does what a reboot does: nothing is mounted, nothing active.
	Reboot func()
	// Debris lists what is in the place and belongs to no volume: devices,
	// numbers, files.
	Debris func() []string

	Capacity int64 // bytes that do not fit into the place; 0: it has no end of its own
	Holds    bool  // an open file keeps a volume from being unmounted and destroyed
}

// Run examines the drivers that open makes.
func Run(t *testing.T, open Open) {
	for _, test := range []struct {
		name string
		run  func(*fixture)
	}{
		{"WhatIsUnknown", unknown},
		{"NamesAreChecked", names},
		{"ACancelledCallDoesNothing", cancelled},
		{"CreateMountsAnEmptyVolume", create},
		{"AVolumeIsCreatedOnce", createOnce},
		{"MountStaysWhereItIs", mount},
		{"UnmountKeepsWhatWasWritten", unmount},
		{"ASnapshotHasTheContent", snapshot},
		{"ASnapshotIsIndependent", independent},
		{"ASnapshotOutlivesItsOrigin", outlives},
		{"ASnapshotNeedsAnOrigin", noOrigin},
		{"AnOriginIsNotMountedForWriting", mountedOrigin},
		{"DestroyLeavesNothing", destroy},
		{"AnOpenFileIsBusy", busy},
		{"ListIsByName", list},
		{"UsageGrows", usage},
		{"WritesFailWhenThereIsNoRoom", full},
		{"NothingIsMadeWhenThereIsNoRoom", fullPlace},
		{"AReboot", reboot},
		{"OneOfManyCreates", race},
		{"ManyBesideOneAnother", parallel},
		{"ACrashInCreate", crashInCreate},
		{"ACrashInSnapshot", crashInSnapshot},
		{"ACrashInActivate", crashInActivate},
		{"ACrashInMountAndUnmount", crashInMount},
		{"ACrashInDestroy", crashInDestroy},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, open)
			test.run(f)
			f.leavesNothing()
		})
	}
}
