// Package volumetest is the exam that every images.Volumes sits: each sentence
// of the interface, repeats, crashes at every step, reboots, a full place.
// Nothing but tests imports it.
package volumetest
