//go:build !linux

package devicemapper

import (
	"errors"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// Volumes implements volume.Volumes on Linux. On this system there is none: New returns an error.
type Volumes struct{ volume.Volumes }

// New returns an error that wraps volume.ErrUnsupported: this system has no device-mapper.
func New(config Config, _ Numbers) (*Volumes, error) {
	return nil, &Error{Op: "open", Name: config.withDefaults().Pool, Kind: volume.ErrUnsupported, Err: errors.ErrUnsupported}
}

// Close does nothing.
func (v *Volumes) Close() error { return nil }
