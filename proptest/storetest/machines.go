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

// machineSet holds the machines of the cases. They have no handlers, since a store calls
// none.
type machineSet[Tx any] struct {
	activates, deals, wals, downloads, unpacks, registrations engine.Machine[Tx]
}

func newMachineSet[Tx any]() machineSet[Tx] {
	return machineSet[Tx]{
		activates: activate.Define[Tx](nil), deals: deal.Define[Tx](nil, deal.DefaultParams()), wals: wal.Define[Tx](nil, wal.DefaultParams()),
		downloads: download.Define[Tx](nil, download.DefaultParams()),
		unpacks:   unpack.Define[Tx](nil, unpack.DefaultParams()), registrations: registration.Define[Tx](nil, registration.DefaultParams()),
	}
}

// machines lists the machines. A machine comes before those that it refers to.
func (c machineSet[Tx]) machines() []engine.Machine[Tx] {
	return []engine.Machine[Tx]{c.activates, c.unpacks, c.downloads, c.deals, c.wals, c.registrations}
}

// Machines returns the machines of the suite. A Subject whose tables take long to create
// can start from a copy of a database that has them.
func Machines[Tx any]() []engine.Machine[Tx] { return newMachineSet[Tx]().machines() }

// funded saves a deal whose deposit has arrived.
func (f *fixture[Tx]) funded() versioned[Tx] {
	f.Helper()
	h := f.deal()
	h = f.saveEvent(h, deal.SubmitOffer{}, advertiser)
	h = f.saveEvent(h, deal.Accept{}, owner)
	h = f.saveEvent(h, deal.AddressReady{DepositAddress: "addr-" + h.id}, fsm.System())
	return f.saveEvent(h, deal.DepositConfirmed{TxHash: "tx-" + h.id, AmountNano: 100}, fsm.System())
}

// downloaded saves a run whose file waits for validation.
func (f *fixture[Tx]) downloaded(image string) versioned[Tx] {
	f.Helper()
	h := f.saveEvent(f.new(f.downloads), download.Start{ImageID: image, S3Key: "k", Bucket: "b"}, fsm.System())
	h = f.saveEvent(h, download.Checked{}, fsm.System())
	return f.saveEvent(h, download.Downloaded{LocalPath: "/tmp/x", Checksum: "c", SizeBytes: 3}, fsm.System())
}

// external is the caller that registers nodes.
var external = registration.ByExternal("x-1").Caller()

// register has a complete payload.
var register = registration.Register{
	Payload:      fsm.Some(fsm.JSON(`{"node":1}`)),
	DeploymentID: fsm.Some("d"), Environment: fsm.Some("e"), NetworkID: fsm.Some("n"),
	ConsulServiceID: fsm.Some("c"), ConsulServiceName: fsm.Some("s"), ConsulTags: fsm.Some([]string{"a", `b"c`}),
	ConsulHealthCheck: fsm.Some(fsm.JSON(`{"http":"x"}`)), PostgresRecord: fsm.Some(fsm.JSON(`{"k":[1,"two"]}`)),
}

// registered saves a registration that is being validated.
func (f *fixture[Tx]) registered(node string) versioned[Tx] {
	f.Helper()
	h := f.saveEvent(f.new(f.registrations), registration.Create{NodeID: node}, external)
	return f.saveEvent(h, register, external)
}

// walRecord saves a pending ingest unit.
func (f *fixture[Tx]) walRecord(object string) versioned[Tx] {
	f.Helper()
	return f.saveEvent(f.new(f.wals), wal.Discover{Dataset: "d", ObjectURI: object, TimeRangeStart: startTime}, fsm.Caller{Role: "worker", ID: "w-1"})
}

// wantImages fails the test unless want rows of images have this status.
func (f *fixture[Tx]) wantImages(id, status string, want int) {
	f.Helper()
	f.wantCount(fmt.Sprintf("images WHERE image_id = '%s' AND download_status = '%s'", id, status), want)
}

// wantCount fails the test unless a query finds want rows.
func (f *fixture[Tx]) wantCount(from string, want int) {
	f.Helper()
	if n := f.Count(f.T, from); n != want {
		f.Fatalf("there are %d %s, want %d", n, from, want)
	}
}

// walWorker is a caller that claims ingest units.
var walWorker = wal.ByWorker("w-1").Caller()

// walFailure reports a failure of a claim that was never made.
var walFailure = wal.Fail{Attempt: 7, LastErrorCode: "x", LastErrorMessage: "x"}

// walClaimed creates an ingest unit that is in progress.
func (f *engineFixture[Tx]) walClaimed() string {
	f.Helper()
	id := f.mustCreate("wal", wal.Discover{Dataset: "d", ObjectURI: "s3://a", TimeRangeStart: startTime}, walWorker)
	f.mustFire("wal", id, wal.Claim{}, walWorker)
	return id
}
