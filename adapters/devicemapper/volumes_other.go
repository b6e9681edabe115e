//go:build !linux

package devicemapper

import (
	"errors"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// Volumes are the thin devices of one pool. There are none without Linux.
type Volumes struct{ volume.Volumes }

// New returns volume.ErrUnsupported: this is not Linux.
func New(config Config, _ Numbers) (*Volumes, error) {
	return nil, &Error{Op: "open", Name: config.withDefaults().Pool, Kind: volume.ErrUnsupported, Err: errors.ErrUnsupported}
}

// Close does nothing.
func (v *Volumes) Close() error { return nil }
