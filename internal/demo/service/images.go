package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// downloadScenario begins the chain of three machines: a download that completes starts an unpack
// in the same transaction, and that an activate. An image is a list of folders. Of ten images one
// is not there, one leads out of its device and one lacks etc. The real handlers are in
// services/images.
func downloadScenario(o Outside) scenario[download.Payload, *download.Record] {
	return scenario[download.Payload, *download.Record]{
		open: func(n int, _ time.Time) (opening[download.Payload], error) {
			image := fmt.Sprintf("image-%d", n)
			start := opening[download.Payload]{event: download.Start{ImageID: image, S3Key: image + ".list", Bucket: "images"}}
			folders := []string{"rootfs/" + image, "usr", "var", "etc"}
			switch n % 10 {
			case 9:
				return start, nil
			case 8:
				folders = folders[:3]
			case 7:
				folders = append(folders, "../escape")
			}
			return start, o.put("s3", "images/"+image+".list", []byte(strings.Join(folders, "\n")))
		},
		next: func(r *download.Record, _ point) move[download.Payload] {
			return move[download.Payload]{rest: r.State.Terminal()}
		},
	}
}

// downloader copies objects to the disk.
type downloader struct{ out Outside }

var _ download.Handlers[tx] = downloader{}

// CheckExists finds nothing: each image is new here.
func (h downloader) CheckExists(ctx context.Context, d fsm.Dispatch, _ download.CheckExistsEffect) (download.CheckExistsAnswer, error) {
	return download.Checked{}, h.out.call(ctx, "disk", d)
}

func (h downloader) DownloadObject(ctx context.Context, d fsm.Dispatch, e download.DownloadObjectEffect) (download.DownloadObjectAnswer, error) {
	if err := h.out.call(ctx, "s3", d); err != nil {
		return nil, err
	}
	data, err := h.out.get("s3", e.Bucket+"/"+e.S3Key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no object %s in bucket %s", e.S3Key, e.Bucket)
	}
	if err != nil {
		return nil, err
	}
	path := h.out.path("disk", e.ImageID)
	return download.Downloaded{LocalPath: path, Checksum: digest(data), SizeBytes: int64(len(data))}, h.out.put("disk", e.ImageID, data)
}

// RemoveTempFile has nothing to do: put leaves no temporary file.
func (downloader) RemoveTempFile(context.Context, fsm.Dispatch, download.RemoveTempFileEffect) error {
	return nil
}

func (h downloader) ValidateFile(_ context.Context, _ fsm.Dispatch, e download.ValidateFileEffect) (download.ValidateFileAnswer, error) {
	data, err := os.ReadFile(e.LocalPath.V)
	return download.Validated{
		ChecksumOk: digest(data) == e.Checksum.V, StructureOk: true, SecurityOk: !strings.Contains(string(data), ".."),
	}, err
}

func (downloader) DeleteFile(_ context.Context, _ fsm.Dispatch, e download.DeleteFileEffect) error {
	if err := os.Remove(e.LocalPath.V); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// unpacker builds devices: a device is a folder.
type unpacker struct{ out Outside }

var _ unpack.Handlers[tx] = unpacker{}

// devices is the folder of the devices, and mounted the file in one that says that it is mounted.
const (
	devices = "devicemapper"
	mounted = ".mounted"
)

// CheckUnpacked derives the same device in each run of an image.
func (h unpacker) CheckUnpacked(ctx context.Context, _ fsm.Dispatch, e unpack.CheckUnpackedEffect) (unpack.CheckUnpackedAnswer, error) {
	return unpack.Checked{DeviceID: digest([]byte(e.ImageID))[:8]}, h.out.work(ctx, 1)
}

func (h unpacker) CreateDevice(ctx context.Context, _ fsm.Dispatch, e unpack.CreateDeviceEffect) (unpack.CreateDeviceAnswer, error) {
	if err := h.out.work(ctx, 1); err != nil {
		return nil, err
	}
	return unpack.DeviceReady{DevicePath: h.out.path(devices, e.DeviceName.V)}, h.out.put(devices, e.DeviceName.V+"/"+mounted, nil)
}

func (h unpacker) QueryCreateDevice(_ context.Context, _ fsm.Dispatch, e unpack.CreateDeviceEffect) (unpack.CreateDeviceAnswer, bool, error) {
	return unpack.DeviceReady{DevicePath: h.out.path(devices, e.DeviceName.V)}, h.out.has(devices, e.DeviceName.V+"/"+mounted), nil
}

// ExtractLayers takes longer than all others: a worker that is killed is likely to be killed here.
func (h unpacker) ExtractLayers(ctx context.Context, _ fsm.Dispatch, e unpack.ExtractLayersEffect) (unpack.ExtractLayersAnswer, error) {
	const slower = 5
	if err := h.out.work(ctx, slower); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(e.LocalPath)
	for folder := range strings.Lines(string(data)) {
		err = errors.Join(err, os.MkdirAll(filepath.Join(e.DevicePath.V, strings.TrimSpace(folder)), 0o755))
	}
	return unpack.Extracted{}, err
}

func (unpacker) VerifyLayout(_ context.Context, _ fsm.Dispatch, e unpack.VerifyLayoutEffect) (unpack.VerifyLayoutAnswer, error) {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(e.DevicePath.V, name))
		return err == nil
	}
	return unpack.LayoutChecked{HasRootfs: has("rootfs"), HasEtc: has("etc"), HasUsr: has("usr"), HasVar: has("var")}, nil
}

func (unpacker) UnmountDevice(_ context.Context, _ fsm.Dispatch, e unpack.UnmountDeviceEffect) (unpack.UnmountDeviceAnswer, error) {
	if err := os.Remove(filepath.Join(e.DevicePath.V, mounted)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return unpack.Unmounted{}, nil
}

func (h unpacker) DestroyDevice(_ context.Context, _ fsm.Dispatch, e unpack.DestroyDeviceEffect) error {
	return os.RemoveAll(h.out.path(devices, e.DeviceName.V))
}

// activator makes snapshots: a snapshot is a file.
type activator struct{ out Outside }

var _ activate.Handlers[tx] = activator{}

// CheckSnapshot finds nothing: each image is new here.
func (h activator) CheckSnapshot(ctx context.Context, _ fsm.Dispatch, _ activate.CheckSnapshotEffect) (activate.CheckSnapshotAnswer, error) {
	return activate.Checked{}, h.out.work(ctx, 1)
}

func (h activator) CreateSnapshot(ctx context.Context, _ fsm.Dispatch, e activate.CreateSnapshotEffect) (activate.CreateSnapshotAnswer, error) {
	if err := h.out.work(ctx, 1); err != nil {
		return nil, err
	}
	if !h.out.has(devices, e.DeviceName) {
		return activate.SnapshotFailed{Reason: activate.AbortReasonOriginMissing}, nil
	}
	return activate.SnapshotReady{DevicePath: h.out.path(devices, e.SnapshotDevice)}, h.out.put(devices, e.SnapshotDevice, nil)
}

func (h activator) QueryCreateSnapshot(_ context.Context, _ fsm.Dispatch, e activate.CreateSnapshotEffect) (activate.CreateSnapshotAnswer, bool, error) {
	return activate.SnapshotReady{DevicePath: h.out.path(devices, e.SnapshotDevice)}, h.out.has(devices, e.SnapshotDevice), nil
}

func (h activator) DestroySnapshot(_ context.Context, _ fsm.Dispatch, e activate.DestroySnapshotEffect) error {
	return h.out.remove(devices, e.SnapshotDevice)
}
