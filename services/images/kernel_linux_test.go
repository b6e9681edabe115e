package images_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/guest"
)

// TestKernel runs on real device-mapper, in a guest, what the other tests run on
// directories, and what only a pool has.
func TestKernel(t *testing.T) {
	beside(t)
	if !guest.Enter(t, "-program dmsetup") {
		return
	}
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"SecondRunHandsOff", TestSecondRunHandsOff},
		{"CrashDuringDownload", TestCrashDuringDownload},
		{"CrashBeforeValidation", TestCrashBeforeValidation},
		{"FileChangedBeforeValidation", TestFileChangedBeforeValidation},
		{"CrashDuringExtract", TestCrashDuringExtract},
		{"DeviceGoneHeals", TestDeviceGoneHeals},
		{"ManuallyDeletedSnapshotHeals", TestManuallyDeletedSnapshotHeals},
		{"ConcurrentRequestsWorkOnce", TestConcurrentRequestsWorkOnce},
		{"TwoCommandsOneImage", TestTwoCommandsOneImage},
		{"GCRemovesWhatNothingRefersTo", TestGCRemovesWhatNothingRefersTo},
		{"OneWorks", TestOneWorks},
		{"RegisterWritesBothTablesOrNone", TestRegisterWritesBothTablesOrNone},
		{"CollidingImagesAreTwo", TestCollidingImagesAreTwo},
		{"ChosenDeviceIsKept", TestChosenDeviceIsKept},
		{"OriginGone", TestOriginGone},
		{"NumbersCollide", testNumbersCollide},
		{"Reboot", testReboot},
		{"PoolFull", testPoolFull},
		{"PoolFullForSnapshot", testPoolFullForSnapshot},
		{"DeviceBusy", testDeviceBusy},
		{"Collection", testCollection},
	} {
		t.Run(test.name, test.run)
	}
}

// TestKernelKillAtEveryWindow has a guest of its own: it takes longer than all the
// others together, and a guest has one processor.
func TestKernelKillAtEveryWindow(t *testing.T) {
	beside(t)
	if guest.Enter(t, "-program dmsetup") {
		TestKillAtEveryWindow(t)
	}
}
