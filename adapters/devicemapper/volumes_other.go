//go:build !linux

package devicemapper

import (
	"errors"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// Volumes implements volume.Volumes. It is safe for concurrent use, also beside other processes.
type Volumes struct{ volume.Volumes }

// New opens the pool, and creates it if it is not active. It returns volume.ErrUnsupported if this
// kernel has no device-mapper or no thin-pool, or if the process is not root.
func New(config Config, _ Numbers) (*Volumes, error) {
	return nil, &Error{Op: "open", Name: config.withDefaults().Pool, Kind: volume.ErrUnsupported, Err: errors.ErrUnsupported}
}

// Close does nothing.
func (v *Volumes) Close() error { return nil }
