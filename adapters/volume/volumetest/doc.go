// Package volumetest is the conformance suite of volume.Volumes: each sentence
// of the interface, repeats, crashes at every step, reboots, a full place.
// Nothing but tests imports it.
package volumetest
