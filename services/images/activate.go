package images

import (
	"context"
	"database/sql"
	"errors"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// activator does the work of the machine activate: document 002, Activate FSM
// State Contracts.
type activator struct {
	volumes Volumes
	store   store
}

var _ activate.Handlers[*sql.Tx] = activator{}

func (h activator) CheckSnapshot(ctx context.Context, _ fsm.Dispatch, e activate.CheckSnapshotEffect) (activate.CheckSnapshotAnswer, error) {
	var answer activate.Checked
	var last string // where the run that made the snapshot left it
	const query = `SELECT active, checksum, coalesce((SELECT device_path FROM activate_records AS r
		WHERE r.image_id = s.image_id AND r.download_run = s.download_run AND state = 'COMPLETE'), '') FROM snapshots AS s WHERE snapshot_id = ?`
	if _, err := row(ctx, h.store, query, []any{e.SnapshotID}, &answer.RowActive, &answer.RowChecksum, &last); err != nil {
		return nil, err
	}
	path, exists, err := usable(ctx, h.volumes, e.SnapshotDevice, last)
	if err != nil {
		return nil, err
	}
	if answer.DeviceExists = exists; path != "" {
		answer.FoundPath = fsm.Some(path)
	}
	_, err = row(ctx, h.store, "SELECT activation_status = 'active' FROM images WHERE image_id = ?", []any{e.ImageID}, &answer.ImageActive)
	return answer, err
}

// CreateSnapshot answers what the document tells apart, a full pool and a missing
// origin, as events of their own.
func (h activator) CreateSnapshot(ctx context.Context, d fsm.Dispatch, e activate.CreateSnapshotEffect) (activate.CreateSnapshotAnswer, error) {
	v, err := h.volumes.Snapshot(ctx, e.DeviceName, e.SnapshotDevice)
	switch {
	case errors.Is(err, ErrExists):
		answer, done, again := h.QueryCreateSnapshot(ctx, d, e)
		if again != nil || !done {
			return nil, errors.Join(err, again)
		}
		return answer, nil
	case errors.Is(err, ErrFull):
		return activate.SnapshotFailed{Reason: activate.AbortReasonPoolFull, Cause: fsm.Some(err.Error())}, nil
	case errors.Is(err, ErrNoOrigin):
		return activate.SnapshotFailed{Reason: activate.AbortReasonOriginMissing, Cause: fsm.Some(err.Error())}, nil
	case err != nil:
		return nil, err
	}
	return activate.SnapshotReady{DevicePath: v.Path}, nil
}

// QueryCreateSnapshot takes a snapshot that is there for the run's own: the run
// destroyed what was there before it came to this state.
func (h activator) QueryCreateSnapshot(ctx context.Context, _ fsm.Dispatch, e activate.CreateSnapshotEffect) (activate.CreateSnapshotAnswer, bool, error) {
	path, exists, err := usable(ctx, h.volumes, e.SnapshotDevice, "")
	if err != nil || !exists {
		return nil, false, err
	}
	return activate.SnapshotReady{DevicePath: path}, true, nil
}

func (h activator) DestroySnapshot(ctx context.Context, _ fsm.Dispatch, e activate.DestroySnapshotEffect) error {
	return h.volumes.Destroy(ctx, e.SnapshotDevice)
}
