package devicemapper

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// The kernel's units, in bytes: sectors, and the blocks of a pool's metadata.
const (
	sectorSize    = 512
	metadataBlock = 4096
)

// poolStatus is the status that the thin-pool driver reports, described in
// Documentation/admin-guide/device-mapper/thin-provisioning.rst of Linux.
type poolStatus struct {
	usedMeta, totalMeta int64  // blocks of metadataBlock
	usedData, totalData int64  // blocks of Config.BlockSectors
	mode                string // rw, ro, out_of_data_space; Fail
	needsCheck          bool
	heldRoot            uint64 // the block of the reserved snapshot's superblock; 0: none is reserved
}

// parsePoolStatus parses "<transaction> <used>/<total metadata> <used>/<total
// data> <held root> <mode> <discards> <on no space> <needs_check or -> ...".
func parsePoolStatus(text string) (poolStatus, error) {
	words := strings.Fields(text)
	if len(words) == 1 && words[0] == "Fail" {
		return poolStatus{mode: "Fail"}, nil
	}
	if len(words) < 5 {
		return poolStatus{}, fmt.Errorf("%q is not the status of a thin-pool", text)
	}
	s := poolStatus{mode: words[4], needsCheck: len(words) > 7 && words[7] == "needs_check"}
	var err error
	if s.usedMeta, s.totalMeta, err = parseShare(words[1]); err != nil {
		return s, err
	}
	if s.usedData, s.totalData, err = parseShare(words[2]); err != nil || words[3] == "-" {
		return s, err
	}
	s.heldRoot, err = strconv.ParseUint(words[3], 10, 64)
	return s, err
}

func parseShare(text string) (used, total int64, err error) {
	a, b, _ := strings.Cut(text, "/")
	used, errUsed := strconv.ParseInt(a, 10, 64)
	total, errTotal := strconv.ParseInt(b, 10, 64)
	return used, total, errors.Join(errUsed, errTotal)
}

// writable returns nil if the pool can create devices, or the reason as an *Error.
func (s poolStatus) writable(pool string) error {
	switch {
	case s.needsCheck || s.mode == "Fail":
		return &Error{Op: "write to pool", Name: pool, Advice: adviceDamaged, Err: fmt.Errorf("the metadata is damaged: mode %s, needs_check %v", s.mode, s.needsCheck)}
	case s.usedMeta >= s.totalMeta:
		return &Error{Op: "write to pool", Name: pool, Kind: volume.ErrFull, Advice: adviceFullMetadata, Err: fmt.Errorf("all %d blocks of metadata are used", s.totalMeta)}
	case s.mode == "out_of_data_space" || s.usedData >= s.totalData:
		return &Error{Op: "write to pool", Name: pool, Kind: volume.ErrFull, Advice: adviceFull, Err: fmt.Errorf("%d of %d blocks of data are used", s.usedData, s.totalData)}
	case s.mode != "rw":
		return &Error{Op: "write to pool", Name: pool, Advice: adviceDamaged, Err: fmt.Errorf("the pool is in mode %s, not rw", s.mode)}
	}
	return nil
}

// parseThinTable parses "<major>:<minor of the pool> <number>".
func parseThinTable(text string) (pool string, number uint32, err error) {
	pool, rest, ok := strings.Cut(text, " ")
	n, err := strconv.ParseUint(strings.TrimSpace(rest), 10, 24)
	if !ok || err != nil {
		return "", 0, fmt.Errorf("%q is not the table of a thin device", text)
	}
	return pool, uint32(n), nil
}

// parseThinStatus parses "<mapped sectors> <highest mapped sector>" and returns the mapped bytes.
func parseThinStatus(text string) (mapped int64, err error) {
	sectors, _, _ := strings.Cut(text, " ")
	if mapped, err = strconv.ParseInt(sectors, 10, 64); err != nil {
		return 0, fmt.Errorf("the thin device has the status %q", text)
	}
	return mapped * sectorSize, nil
}
