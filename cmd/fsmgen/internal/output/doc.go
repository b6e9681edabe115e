// Package output makes a folder hold the files that were generated, and
// nothing that was generated before.
//
// [Compare] finds what differs and touches nothing; [Plan.Apply] writes it.
// New files are first written beside the old ones and then renamed into
// place, so a reader never sees half a file and a full disk changes nothing.
// A file that is already right is not touched. A file without our header in its
// first line was not written by fsmgen: it is neither replaced nor removed. Only files
// with a name that fsmgen gives are removed. No symbolic link is followed or removed.
package output
