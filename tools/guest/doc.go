// Command guest runs a Go test binary as root in a QEMU guest, so that tests
// have a kernel of their own: device-mapper, loop devices, mounts.
//
//	go test -exec "guest -kernel DIR -program mkfs.ext4" ./adapters/devicemapper
//
// DIR is a folder into which a Debian kernel package was unpacked. The guest is
// emulated (no KVM, no root) and takes about three seconds to boot. Its root
// file system holds the test binary, which must be static (CGO_ENABLED=0), the
// package's testdata, the kernel modules and the programs that were asked for;
// this same binary is its first process. The binary runs with its package's
// testdata beside it, /tmp in memory, and INSIDE_GUEST=1.
//
// The test's output, both streams in one as go test itself merges them, comes
// through unchanged while it runs. The exit code is the test's own, or
//
//	125  the guest could not be made, died, or hung
//
// with the guest's console on standard error. A test that hangs is ended within the
// guest, as tools/watchdog does elsewhere; while it works the console gets a line
// for each five seconds of the processor, and a guest whose console is silent is stopped. A -test.coverprofile is brought
// back; other files that a test binary writes (profiles, traces, fuzzing) are
// refused.
package main

// exitRunner is the exit code when there is no verdict of the test.
const exitRunner = 125
