// Package volume is the interface to volumes with copy-on-write snapshots: [Volumes]. Package
// adapters/devicemapper implements it with thin devices, adapters/directory with plain
// directories. Package volumetest is the conformance suite.
//
// The package knows no service of this repository.
package volume
