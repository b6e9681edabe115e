package images_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/guest"
)

// TestKernel runs on real device-mapper, in a guest, what the other tests run on
// directories, and what only a pool has.
func TestKernel(t *testing.T) {
	if !guest.Enter(t, "-program dmsetup") {
		return
	}
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"KillAtEveryWindow", TestKillAtEveryWindow},
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
