package devicemapper

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// The sizes in which the kernel counts, in bytes: sectors everywhere, and
// blocks of a pool's metadata.
const (
	sectorSize    = 512
	metadataBlock = 4096
)

// poolStatus is what the thin-pool driver says of a pool, linux
// Documentation/admin-guide/device-mapper/thin-provisioning.rst.
type poolStatus struct {
	usedMeta, totalMeta int64  // blocks of metadataBlock
	usedData, totalData int64  // blocks of the pool
	mode                string // rw, ro, out_of_data_space; Fail
	needsCheck          bool
	heldRoot            uint64 // the block of the frozen superblock; 0: none
}

// parsePoolStatus reads "<transaction> <used>/<total metadata> <used>/<total
// data> <held root> <mode> <discards> <on no space> <needs_check or -> ...".
func parsePoolStatus(text string) (poolStatus, error) {
	words := strings.Fields(text)
	if len(words) == 1 && words[0] == "Fail" {
		return poolStatus{mode: "Fail"}, nil
	}
	if len(words) < 5 {
		return poolStatus{}, fmt.Errorf("%q is no status of a thin-pool", text)
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

// writable returns why nothing can be made in the pool, if so.
func (s poolStatus) writable(pool string) error {
	switch {
	case s.needsCheck || s.mode == "Fail":
		return &Error{Op: "write to pool", Name: pool, Advice: adviceDamaged, Err: fmt.Errorf("the metadata is damaged: mode %s, needs_check %v", s.mode, s.needsCheck)}
	case s.usedMeta >= s.totalMeta:
		return &Error{Op: "write to pool", Name: pool, Kind: volume.ErrFull, Advice: adviceFullMetadata, Err: fmt.Errorf("all %d blocks of metadata are used", s.totalMeta)}
	case s.mode == "out_of_data_space" || s.usedData >= s.totalData:
		return &Error{Op: "write to pool", Name: pool, Kind: volume.ErrFull, Advice: adviceFull, Err: fmt.Errorf("%d of %d blocks of data are used", s.usedData, s.totalData)}
	case s.mode != "rw":
		return &Error{Op: "write to pool", Name: pool, Advice: adviceDamaged, Err: fmt.Errorf("it is in mode %s", s.mode)}
	}
	return nil
}

// parseThinTable reads "<major>:<minor of the pool> <number>".
func parseThinTable(text string) (pool string, number uint32, err error) {
	pool, rest, ok := strings.Cut(text, " ")
	n, err := strconv.ParseUint(strings.TrimSpace(rest), 10, 24)
	if !ok || err != nil {
		return "", 0, fmt.Errorf("%q is no table of a thin device", text)
	}
	return pool, uint32(n), nil
}

// parseThinStatus reads "<mapped sectors> <highest mapped sector>".
func parseThinStatus(text string) (mapped int64, err error) {
	sectors, _, _ := strings.Cut(text, " ")
	if mapped, err = strconv.ParseInt(sectors, 10, 64); err != nil {
		return 0, fmt.Errorf("the thin device is not usable: status %q", text)
	}
	return mapped * sectorSize, nil
}
