package crashtest

import (
	"time"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Lives of the three machines of document 002: a download starts an unpacking,
// which starts an activation.

var (
	downloadKinds = []Kind{Create, Chain, Answer, Deliver, Retry, Bury, Requeue, Idempotent, Cleanup}
	unpackKinds   = []Kind{Started, Answer, Deadline, Deliver, Retry, Bury, Requeue, Idempotent, Queryable, AtMostOnce, Cleanup}
	activateKinds = []Kind{Started, Answer, Chain, Idempotent, Queryable}
)

func imageLives() []life {
	valid := download.Validated{ChecksumOk: true, StructureOk: true, SecurityOk: true}
	checksOut := unpack.LayoutChecked{HasRootfs: true, HasEtc: true, HasUsr: true, HasVar: true}
	// lived is a life of one image whose systems answer with success where
	// nothing else is said.
	lived := func(name string, special func(device string) map[string][]reply, more ...step) life {
		return life{name, func(tag string) script {
			device := idOf(tag, "device").String()[:8]
			replies := map[string][]reply{
				"download.check_exists":    answers(download.Checked{}),
				"download.download_object": answers(download.Downloaded{LocalPath: "/i", Checksum: "c", SizeBytes: 3}),
				"download.validate_file":   answers(valid),
				"unpack.check_unpacked":    answers(unpack.Checked{DeviceID: device}),
				"unpack.create_device":     answers(unpack.DeviceReady{DevicePath: "/d"}),
				"unpack.extract_layers":    answers(unpack.Extracted{}),
				"unpack.verify_layout":     answers(checksOut),
				"unpack.unmount_device":    answers(unpack.Unmounted{}),
				"activate.check_snapshot":  answers(activate.Checked{}),
				"activate.create_snapshot": answers(activate.SnapshotReady{DevicePath: "/s"}),
			}
			for effect, list := range special(device) {
				replies[effect] = list
			}
			begin := create("download", download.Start{ImageID: tag, S3Key: "k", Bucket: "b"}, system)
			return script{append([]step{begin}, more...), replies}
		}}
	}
	only := func(effect string, replies []reply) func(string) map[string][]reply {
		return func(string) map[string][]reply { return map[string][]reply{effect: replies} }
	}
	found := fsm.Some("/s")
	return []life{
		lived("all the way", only("download.download_object", failsOnce(download.Downloaded{LocalPath: "/i", Checksum: "c", SizeBytes: 3}))),
		lived("handed off", func(string) map[string][]reply {
			return map[string][]reply{
				"download.check_exists": answers(download.Checked{
					RowCompleted: true, FileExists: true, SizeMatches: true, ChecksumMatches: true,
					StoredPath: fsm.Some("/i"), StoredChecksum: fsm.Some("c"), StoredBytes: fsm.Some[int64](3),
				}),
				"unpack.check_unpacked": broken,
			}
		}),
		lived("unusable file", func(string) map[string][]reply {
			return map[string][]reply{"download.validate_file": answers(download.Validated{}), "download.delete_file": stuck}
		}, mend()),
		lived("no check", only("download.check_exists", broken)),
		lived("no file", only("download.download_object", broken)),
		lived("no validator", only("download.validate_file", broken)),
		lived("no device", only("unpack.create_device", broken)),
		lived("a rest of a failed run", func(device string) map[string][]reply {
			return map[string][]reply{
				"unpack.check_unpacked": answers(unpack.Checked{DeviceExists: true, DeviceID: device}), "unpack.destroy_device": stuck,
			}
		}, mend()),
		lived("somebody else's device", func(device string) map[string][]reply {
			return map[string][]reply{"unpack.check_unpacked": answers(unpack.Checked{DeviceExists: true, DeviceOwner: fsm.Some("other"), DeviceID: device})}
		}),
		lived("no extraction", only("unpack.extract_layers", broken)),
		lived("an extraction without end", only("unpack.extract_layers", []reply{{meanwhile: 31 * time.Minute, answer: unpack.Extracted{}}})),
		lived("bad layout", only("unpack.verify_layout", answers(unpack.LayoutChecked{HasEtc: true}))),
		lived("no layout check", only("unpack.verify_layout", broken)),
		lived("still mounted", only("unpack.unmount_device", broken)),
		lived("registered before", only("activate.check_snapshot", answers(activate.Checked{RowActive: true, ImageActive: true, DeviceExists: true, FoundPath: found}))),
		lived("not registered", only("activate.check_snapshot", answers(activate.Checked{DeviceExists: true, FoundPath: found}))),
		lived("half registered", only("activate.check_snapshot", answers(activate.Checked{RowActive: true, DeviceExists: true, FoundPath: found}))),
		lived("a row without a snapshot", only("activate.check_snapshot", answers(activate.Checked{RowActive: true}))),
		lived("no snapshot", only("activate.create_snapshot", broken)),
		lived("no snapshot check", only("activate.check_snapshot", broken)),
	}
}
