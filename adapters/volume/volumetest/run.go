//go:build unix

package volumetest

import (
	"testing"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// Open returns a driver with an empty place of its own. The end of the test removes the place.
type Open func(t *testing.T) (volume.Volumes, Tools)

// Tools changes and inspects the place of a driver in ways that the driver can't.
type Tools struct {
	// Reopen returns another driver for the same place, like that of a new process. Earlier drivers
	// stay usable, like those of other processes. The driver calls step before each step that changes
	// something. If step returns an error, the driver returns it at once and cleans nothing up.
	Reopen func(step func(point string) error) volume.Volumes
	// Reboot leaves the place as a reboot does: no volume is mounted or active.
	Reboot func()
	// Debris lists devices, numbers and files of the place that belong to no volume.
	Debris func() []string

	Capacity int64 // bytes that do not fit into the place; 0 if the place has no limit of its own
	Holds    bool  // an open file keeps a volume from being unmounted and destroyed
}

// Run runs every case on a driver that open makes.
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
