package images

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"

	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/images/extract"
)

// unpacker does the work of the machine unpack: document 002, Unpack FSM State
// Contracts.
type unpacker struct {
	volumes Volumes
	store   store
	limits  extract.Options
	tell    Listener
	log     *slog.Logger
}

var _ unpack.Handlers[*sql.Tx] = unpacker{}

// device is the name of a run's volume: its later effects carry the path only.
func (h unpacker) device(ctx context.Context, d fsm.Dispatch) (name string, err error) {
	found, err := row(ctx, h.store, "SELECT device_name FROM unpack_records WHERE run_id = ?", []any{d.Record}, &name)
	if err == nil && !found {
		err = fmt.Errorf("run %s is gone", d.Record)
	}
	return name, err
}

// CheckUnpacked compares the table with the volume. A volume that the pool knows
// and that is not active exists; one that only the table knows does not.
func (h unpacker) CheckUnpacked(ctx context.Context, _ fsm.Dispatch, e unpack.CheckUnpackedEffect) (unpack.CheckUnpackedAnswer, error) {
	id, err := reserveDevice(ctx, h.store, e.ImageID)
	if err != nil {
		return nil, err
	}
	answer := unpack.Checked{DeviceID: id}
	var last string // where the run that made the volume left it
	const query = `SELECT layout_verified, checksum, coalesce((SELECT device_path FROM unpack_records AS r
		WHERE r.image_id = u.image_id AND r.download_run = u.download_run AND state = 'COMPLETE'), '') FROM unpacked_images AS u WHERE image_id = ?`
	if _, err := row(ctx, h.store, query, []any{e.ImageID}, &answer.RowVerified, &answer.RowChecksum, &last); err != nil {
		return nil, err
	}
	path, exists, err := usable(ctx, h.volumes, "thin-"+id, last)
	if err != nil {
		return nil, err
	}
	if answer.DeviceExists = exists; path != "" {
		answer.FoundPath = fsm.Some(path)
	}
	_, err = row(ctx, h.store, "SELECT image_id FROM unpacked_images WHERE device_id = ?", []any{id}, &answer.DeviceOwner)
	return answer, err
}

func (h unpacker) CreateDevice(ctx context.Context, _ fsm.Dispatch, e unpack.CreateDeviceEffect) (unpack.CreateDeviceAnswer, error) {
	v, err := h.volumes.Create(ctx, e.DeviceName.V)
	if err != nil {
		return nil, err
	}
	return unpack.DeviceReady{DevicePath: v.Path}, nil
}

// QueryCreateDevice: mounting is the last step of creating a volume.
func (h unpacker) QueryCreateDevice(ctx context.Context, _ fsm.Dispatch, e unpack.CreateDeviceEffect) (unpack.CreateDeviceAnswer, bool, error) {
	v, err := h.volumes.Look(ctx, e.DeviceName.V)
	if err != nil || v.Mounted == "" {
		return nil, false, err
	}
	return unpack.DeviceReady{DevicePath: v.Path}, true, nil
}

// ExtractLayers checks the file once more while it reads it: a volume never
// holds what was not downloaded.
func (h unpacker) ExtractLayers(ctx context.Context, d fsm.Dispatch, e unpack.ExtractLayersEffect) (unpack.ExtractLayersAnswer, error) {
	name, err := h.device(ctx, d)
	if err != nil {
		return nil, err
	}
	v, err := h.volumes.Mount(ctx, name)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(e.LocalPath)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	hash := sha256.New()
	told := &teller{r: io.TeeReader(file, hash), total: info.Size(), tell: h.tell.progress(imageOf(e.LocalPath), Extract)}
	report, err := extract.Extract(ctx, told, v.Mounted, h.limits)
	if err != nil {
		return nil, fmt.Errorf("extract %s: %w", e.LocalPath, h.full(ctx, err))
	}
	if report.Stripped > 0 {
		h.log.WarnContext(ctx, "files lost set-user-ID, set-group-ID or capabilities; privileges=keep keeps them", "image", imageOf(e.LocalPath), "files", report.Stripped)
	}
	if _, err := io.Copy(io.Discard, told); err != nil {
		return nil, err
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); sum != e.Checksum {
		return nil, fmt.Errorf("%s changed after it was downloaded: its checksum is %s, not %s", e.LocalPath, sum, e.Checksum)
	}
	return unpack.Extracted{}, nil
}

// full says of a write that failed that there is no room left, if so, and what to
// do. A file system may tell it as EIO, when it took what did not fit below it:
// the keeper knows better.
func (h unpacker) full(ctx context.Context, err error) error {
	if !errors.Is(err, syscall.ENOSPC) {
		const rest = 1 << 20 // what a pool can't give out because it deals in blocks
		u, asked := h.volumes.Usage(ctx)
		if !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.EROFS) || asked != nil || u.Total-u.Used > rest {
			return err
		}
	}
	return fmt.Errorf("%w: %w: make room where the volumes are, or give them more, and ask again", ErrFull, err)
}

// VerifyLayout mounts the volume again if a reboot unmounted it.
func (h unpacker) VerifyLayout(ctx context.Context, d fsm.Dispatch, _ unpack.VerifyLayoutEffect) (unpack.VerifyLayoutAnswer, error) {
	name, err := h.device(ctx, d)
	if err != nil {
		return nil, err
	}
	switch _, exists, err := usable(ctx, h.volumes, name, ""); {
	case err != nil:
		return nil, err
	case !exists:
		return nil, fmt.Errorf("volume %s is gone", name)
	}
	v, err := h.volumes.Mount(ctx, name)
	if err != nil {
		return nil, err
	}
	l, err := extract.ReadLayout(v.Mounted)
	if err == nil && !l.Complete() {
		err = h.judgeLayout(ctx, d, l)
	}
	return unpack.LayoutChecked{HasRootfs: l.Rootfs, HasEtc: l.Etc, HasUsr: l.Usr, HasVar: l.Var}, err
}

// judgeLayout says what is missing. The tar stays, since it is what was asked for
// and valid (document 002, Scenario 4 of Download): a mended object is fetched
// when it is gone.
func (h unpacker) judgeLayout(ctx context.Context, d fsm.Dispatch, l extract.Layout) error {
	var tar string
	if _, err := row(ctx, h.store, "SELECT local_path FROM unpack_records WHERE run_id = ?", []any{d.Record}, &tar); err != nil {
		return err
	}
	return judge(ctx, h.store, d.Record, fmt.Sprintf("an image has the directories rootfs, etc, usr and var; of these the object has %s; "+
		"mend the object, remove %s, and ask again", l, tar))
}

func (h unpacker) UnmountDevice(ctx context.Context, d fsm.Dispatch, _ unpack.UnmountDeviceEffect) (unpack.UnmountDeviceAnswer, error) {
	name, err := h.device(ctx, d)
	if err != nil {
		return nil, err
	}
	return unpack.Unmounted{}, h.volumes.Unmount(ctx, name)
}

func (h unpacker) DestroyDevice(ctx context.Context, _ fsm.Dispatch, e unpack.DestroyDeviceEffect) error {
	return h.volumes.Destroy(ctx, e.DeviceName.V)
}

// teller tells how much was read through it.
type teller struct {
	r           io.Reader
	done, total int64
	tell        Progress
}

func (t *teller) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.done += int64(n)
	t.tell(t.done, t.total)
	return n, err
}
