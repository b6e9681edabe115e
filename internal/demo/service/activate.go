package service

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// activator makes snapshots: a copy of the device's folder beside it.
type activator struct {
	out   Outside
	store Store
}

var _ activate.Handlers[*sql.Tx] = activator{}

func (h activator) CheckSnapshot(ctx context.Context, _ fsm.Dispatch, e activate.CheckSnapshotEffect) (activate.CheckSnapshotAnswer, error) {
	if err := h.out.work(ctx, 1); err != nil {
		return nil, err
	}
	var answer activate.Checked
	if answer.DeviceExists = h.out.has(devices, e.SnapshotDevice); answer.DeviceExists {
		answer.FoundPath = fsm.Some(h.out.path(devices, e.SnapshotDevice))
	}
	if _, err := look(ctx, h.store, "SELECT active, checksum FROM snapshots WHERE snapshot_id = ?", []any{e.SnapshotID}, &answer.RowActive, &answer.RowChecksum); err != nil {
		return nil, err
	}
	_, err := look(ctx, h.store, "SELECT activation_status = 'active' FROM images WHERE image_id = ?", []any{e.ImageID}, &answer.ImageActive)
	return answer, err
}

// CreateSnapshot copies under another name and renames, so that a snapshot is
// there as a whole or not at all.
func (h activator) CreateSnapshot(ctx context.Context, d fsm.Dispatch, e activate.CreateSnapshotEffect) (activate.CreateSnapshotAnswer, error) {
	if err := h.out.work(ctx, 1); err != nil {
		return nil, err
	}
	origin, temp, snapshot := h.out.path(devices, e.DeviceName), h.out.path(devices, "."+d.ID), h.out.path(devices, e.SnapshotDevice)
	if !h.out.has(devices, e.DeviceName) {
		return activate.SnapshotFailed{Reason: activate.AbortReasonOriginMissing}, nil
	}
	err := errors.Join(os.RemoveAll(temp), os.CopyFS(temp, os.DirFS(origin)))
	if err == nil {
		err = os.Rename(temp, snapshot)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return activate.SnapshotReady{DevicePath: snapshot}, nil
}

func (h activator) QueryCreateSnapshot(_ context.Context, _ fsm.Dispatch, e activate.CreateSnapshotEffect) (activate.CreateSnapshotAnswer, bool, error) {
	if !h.out.has(devices, e.SnapshotDevice) {
		return nil, false, nil
	}
	return activate.SnapshotReady{DevicePath: h.out.path(devices, e.SnapshotDevice)}, true, nil
}

func (h activator) DestroySnapshot(_ context.Context, _ fsm.Dispatch, e activate.DestroySnapshotEffect) error {
	return os.RemoveAll(h.out.path(devices, e.SnapshotDevice))
}
