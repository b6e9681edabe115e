package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// downloadScript begins the chain of three machines: a download that completes starts an unpack in
// the same transaction, and that an activate. Of ten images one is not there, one leads out of its
// device and one is damaged. The real handlers are in services/images.
func downloadScript() script[download.Payload, *download.Record] {
	return script[download.Payload, *download.Record]{
		open: func(n int, _ time.Time) (download.Payload, engine.Option) {
			image := fmt.Sprintf("image-%d", n)
			switch n % 10 {
			case 7:
				image = "escaping-" + image
			case 8:
				image = "damaged-" + image
			case 9:
				image = "absent-" + image
			}
			return download.Start{ImageID: image, S3Key: image + ".tar", Bucket: "images"}, nil
		},
	}
}

// downloadAnswer finds nothing on the disk: each image is new here.
func downloadAnswer(_ context.Context, _ Outside, d fsm.Dispatch) (fsm.Payload, error) {
	switch d.Effect {
	case "check_exists":
		return download.Checked{}, nil
	case "download_object":
		e, err := fsm.PayloadOf[download.DownloadObjectEffect](d)
		if err == nil && mentions(d, "absent-") {
			err = errors.New("no such object")
		}
		return download.Downloaded{LocalPath: "/images/" + e.ImageID, Checksum: "sha256 of " + e.ImageID, SizeBytes: 1 << 20}, err
	case "validate_file":
		return download.Validated{ChecksumOk: true, StructureOk: true, SecurityOk: !mentions(d, "escaping-")}, nil
	}
	return nil, nil
}

// unpackAnswer derives the same device in each run of an image.
func unpackAnswer(_ context.Context, _ Outside, d fsm.Dispatch) (fsm.Payload, error) {
	switch d.Effect {
	case "check_unpacked":
		e, err := fsm.PayloadOf[unpack.CheckUnpackedEffect](d)
		return unpack.Checked{DeviceID: digest("%s", e.ImageID)[:8]}, err
	case "create_device":
		e, err := fsm.PayloadOf[unpack.CreateDeviceEffect](d)
		return unpack.DeviceReady{DevicePath: "/dev/mapper/" + e.DeviceName.V}, err
	case "extract_layers":
		if mentions(d, "damaged-") {
			return nil, never("the archive ends in the middle of a file")
		}
		return unpack.Extracted{}, nil
	case "verify_layout":
		return unpack.LayoutChecked{HasRootfs: true, HasEtc: true, HasUsr: true, HasVar: true}, nil
	case "unmount_device":
		return unpack.Unmounted{}, nil
	}
	return nil, nil
}

func activateAnswer(_ context.Context, _ Outside, d fsm.Dispatch) (fsm.Payload, error) {
	switch d.Effect {
	case "check_snapshot":
		return activate.Checked{}, nil
	case "create_snapshot":
		e, err := fsm.PayloadOf[activate.CreateSnapshotEffect](d)
		return activate.SnapshotReady{DevicePath: "/dev/mapper/" + e.SnapshotDevice}, err
	}
	return nil, nil
}
