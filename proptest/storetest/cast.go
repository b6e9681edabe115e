package storetest

import (
	"fmt"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/generated/wal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// cast are the machines of the exam. Their handlers are missing: a store calls
// none.
type cast[Tx any] struct {
	activates, deals, wals, downloads, unpacks, registrations engine.Machine[Tx]
}

func newCast[Tx any]() cast[Tx] {
	return cast[Tx]{
		activates: activate.Define[Tx](nil), deals: deal.Define[Tx](nil, deal.DefaultParams()), wals: wal.Define[Tx](nil, wal.DefaultParams()),
		downloads: download.Define[Tx](nil, download.DefaultParams()),
		unpacks:   unpack.Define[Tx](nil, unpack.DefaultParams()), registrations: registration.Define[Tx](nil, registration.DefaultParams()),
	}
}

// machines lists them so that one refers to another that comes later.
func (c cast[Tx]) machines() []engine.Machine[Tx] {
	return []engine.Machine[Tx]{c.activates, c.unpacks, c.downloads, c.deals, c.wals, c.registrations}
}

// Machines are the machines of the exam. A subject whose tables take long to
// make can begin with a copy of a database that has theirs.
func Machines[Tx any]() []engine.Machine[Tx] { return newCast[Tx]().machines() }

// funded saves a deal whose deposit has arrived.
func (b *bench[Tx]) funded() head[Tx] {
	b.Helper()
	h := b.deal()
	h = b.fire(h, deal.SubmitOffer{}, advertiser)
	h = b.fire(h, deal.Accept{}, owner)
	h = b.fire(h, deal.AddressReady{DepositAddress: "addr-" + h.id}, fsm.System())
	return b.fire(h, deal.DepositConfirmed{TxHash: "tx-" + h.id, AmountNano: 100}, fsm.System())
}

// downloaded saves a run whose file waits for validation.
func (b *bench[Tx]) downloaded(image string) head[Tx] {
	b.Helper()
	h := b.fire(b.new(b.downloads), download.Start{ImageID: image, S3Key: "k", Bucket: "b"}, fsm.System())
	h = b.fire(h, download.Checked{}, fsm.System())
	return b.fire(h, download.Downloaded{LocalPath: "/tmp/x", Checksum: "c", SizeBytes: 3}, fsm.System())
}

// external is who registers nodes.
var external = registration.ByExternal("x-1").Caller()

// register carries a payload that is complete.
var register = registration.Register{
	Payload:      fsm.Some(fsm.JSON(`{"node":1}`)),
	DeploymentID: fsm.Some("d"), Environment: fsm.Some("e"), NetworkID: fsm.Some("n"),
	ConsulServiceID: fsm.Some("c"), ConsulServiceName: fsm.Some("s"), ConsulTags: fsm.Some([]string{"a", `b"c`}),
	ConsulHealthCheck: fsm.Some(fsm.JSON(`{"http":"x"}`)), PostgresRecord: fsm.Some(fsm.JSON(`{"k":[1,"two"]}`)),
}

// registered saves a registration that is being validated.
func (b *bench[Tx]) registered(node string) head[Tx] {
	b.Helper()
	h := b.fire(b.new(b.registrations), registration.Create{NodeID: node}, external)
	return b.fire(h, register, external)
}

// walRecord saves a pending ingest unit.
func (b *bench[Tx]) walRecord(object string) head[Tx] {
	b.Helper()
	return b.fire(b.new(b.wals), wal.Discover{Dataset: "d", ObjectURI: object, TimeRangeStart: epoch}, fsm.Caller{Role: "worker", ID: "w-1"})
}

// image fails the test unless so many rows of images have this status.
func (b *bench[Tx]) image(id, status string, want int) {
	b.Helper()
	b.counts(fmt.Sprintf("images WHERE image_id = '%s' AND download_status = '%s'", id, status), want)
}

// counts fails the test unless so many rows are there.
func (b *bench[Tx]) counts(from string, want int) {
	b.Helper()
	if n := b.Count(b.T, from); n != want {
		b.Fatalf("there are %d %s, want %d", n, from, want)
	}
}

// walWorker claims ingest units.
var walWorker = wal.ByWorker("w-1").Caller()

// walFailure reports a claim that was never made.
var walFailure = wal.Fail{Attempt: 7, LastErrorCode: "x", LastErrorMessage: "x"}

// walClaimed makes an ingest unit that is in progress.
func (s *stage[Tx]) walClaimed() string {
	s.Helper()
	id := s.create("wal", wal.Discover{Dataset: "d", ObjectURI: "s3://a", TimeRangeStart: epoch}, walWorker)
	s.accepts("wal", id, wal.Claim{}, walWorker)
	return id
}
