package service

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// unpacker builds devices. The stand-in for the device mapper is a folder: a
// device is a folder in it, formatted and mounted when the two files are there
// that say so.
type unpacker struct {
	out   Outside
	store Store
}

var _ unpack.Handlers[*sql.Tx] = unpacker{}

// devices is the folder of the stand-in.
const devices = "devicemapper"

const (
	formatted = ".formatted"
	mounted   = ".mounted"
)

// deviceOf is the same for each run of an image.
func deviceOf(image string) string { return digest([]byte(image))[:8] }

func (h unpacker) CheckUnpacked(ctx context.Context, _ fsm.Dispatch, e unpack.CheckUnpackedEffect) (unpack.CheckUnpackedAnswer, error) {
	if err := h.out.work(ctx, 1); err != nil {
		return nil, err
	}
	answer := unpack.Checked{DeviceID: deviceOf(e.ImageID)}
	name := "thin-" + answer.DeviceID
	if answer.DeviceExists = h.out.has(devices, name); answer.DeviceExists {
		answer.FoundPath = fsm.Some(h.out.path(devices, name))
	}
	if _, err := look(ctx, h.store, "SELECT layout_verified, checksum FROM unpacked_images WHERE image_id = ?", []any{e.ImageID}, &answer.RowVerified, &answer.RowChecksum); err != nil {
		return nil, err
	}
	_, err := look(ctx, h.store, "SELECT image_id FROM unpacked_images WHERE device_id = ?", []any{answer.DeviceID}, &answer.DeviceOwner)
	return answer, err
}

func (h unpacker) CreateDevice(ctx context.Context, d fsm.Dispatch, e unpack.CreateDeviceEffect) (unpack.CreateDeviceAnswer, error) {
	if err := h.out.work(ctx, 1); err != nil {
		return nil, err
	}
	for _, mark := range []string{formatted, mounted} {
		if err := h.out.put(devices, e.DeviceName.V+"/"+mark, nil); err != nil {
			return nil, err
		}
	}
	return unpack.DeviceReady{DevicePath: h.out.path(devices, e.DeviceName.V)}, nil
}

func (h unpacker) QueryCreateDevice(_ context.Context, _ fsm.Dispatch, e unpack.CreateDeviceEffect) (unpack.CreateDeviceAnswer, bool, error) {
	if !h.out.has(devices, e.DeviceName.V+"/"+formatted) || !h.out.has(devices, e.DeviceName.V+"/"+mounted) {
		return nil, false, nil
	}
	return unpack.DeviceReady{DevicePath: h.out.path(devices, e.DeviceName.V)}, true, nil
}

// ExtractLayers takes longer than all others: a worker that is killed is likely
// to be killed here.
func (h unpacker) ExtractLayers(ctx context.Context, _ fsm.Dispatch, e unpack.ExtractLayersEffect) (unpack.ExtractLayersAnswer, error) {
	const slower = 5
	if err := h.out.work(ctx, slower); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(e.LocalPath)
	if err != nil {
		return nil, err
	}
	if digest(data) != e.Checksum {
		return nil, fmt.Errorf("%s is not what was downloaded", e.LocalPath)
	}
	return unpack.Extracted{}, extract(data, e.DevicePath.V)
}

func (h unpacker) VerifyLayout(_ context.Context, _ fsm.Dispatch, e unpack.VerifyLayoutEffect) (unpack.VerifyLayoutAnswer, error) {
	has := func(name string) bool {
		info, err := os.Stat(filepath.Join(e.DevicePath.V, name))
		return err == nil && info.IsDir()
	}
	return unpack.LayoutChecked{HasRootfs: has("rootfs"), HasEtc: has("etc"), HasUsr: has("usr"), HasVar: has("var")}, nil
}

func (h unpacker) UnmountDevice(_ context.Context, _ fsm.Dispatch, e unpack.UnmountDeviceEffect) (unpack.UnmountDeviceAnswer, error) {
	if err := os.Remove(filepath.Join(e.DevicePath.V, mounted)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return unpack.Unmounted{}, nil
}

func (h unpacker) DestroyDevice(_ context.Context, _ fsm.Dispatch, e unpack.DestroyDeviceEffect) error {
	return os.RemoveAll(h.out.path(devices, e.DeviceName.V))
}
