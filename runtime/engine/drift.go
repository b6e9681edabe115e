package engine

import (
	"context"
	"errors"
	"strings"
)

// tellDrift logs that a later version of a machine was deployed, which is no error: this process
// may have restarted during an update. It returns the other differences.
func (e *Engine[T]) tellDrift(ctx context.Context, err error) error {
	var drift *DriftError
	if !errors.As(err, &drift) {
		return err
	}
	var left []Drift
	for _, d := range drift.Machines {
		if !d.Later() {
			left = append(left, d)
			continue
		}
		e.config.Logger.WarnContext(ctx, "a later version of the machine was deployed: update this program",
			"machine", d.Machine, "version", d.Version, "deployed", d.Deployed, "differences", strings.Join(d.Differences, ", "))
	}
	if len(left) == 0 {
		return nil
	}
	return &DriftError{Machines: left}
}
