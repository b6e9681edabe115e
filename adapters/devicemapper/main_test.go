//go:build linux

package devicemapper

import (
	"testing"

	"github.com/fsmgen/fsmgen/adapters/volume/volumetest"
	"github.com/fsmgen/fsmgen/internal/guest"
)

// TestKernel is everything that needs device-mapper. It runs in a guest.
func TestKernel(t *testing.T) {
	if !guest.Enter(t) {
		return
	}
	t.Run("Pool", testPool)
	t.Run("Inventory", testInventory)
	for name, test := range map[string]func(*testing.T, *subject, *Volumes){
		"PoolIsMadeAtLast": testPoolIsMade, "NumbersWereLost": testLostNumbers, "ForeignDevice": testForeignDevice,
		"StaleNode": testStaleNode, "MountedElsewhere": testMountedElsewhere, "LeftSuspended": testLeftSuspended,
		"LeftProbe": testLeftProbe, "SnapshotsShare": testMapped, "LostWrites": testLostWrites, "NoMkfs": testNoMkfs,
		"MetadataFull": testMetadataFull, "NoPermission": testNoPermission,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSubject(t)
			test(t, s, s.reopen(nil).(*Volumes))
		})
	}
	t.Run("Conformance", func(t *testing.T) { volumetest.Run(t, openSubject) })
	t.Run("NoThinPool", testNoThinPool) // the last: there is none from then on
}
