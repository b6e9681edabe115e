//go:build !linux

package devicemapper

import (
	"errors"

	"github.com/fsmgen/fsmgen/services/images"
)

// Volumes are the thin devices of one pool. There are none without Linux.
type Volumes struct{ images.Volumes }

// New returns images.ErrUnsupported: this is not Linux.
func New(config Config, _ Numbers) (*Volumes, error) {
	return nil, &Error{Op: "open", Name: config.withDefaults().Pool, Kind: images.ErrUnsupported, Err: errors.ErrUnsupported}
}

// Close does nothing.
func (v *Volumes) Close() error { return nil }
