package storetest

import (
	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/generated/wal"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// Machine is a generated machine, as far as a store's cases use it.
type Machine interface {
	store.Machine
	// States lists every state in spec order.
	States() []string
	// Blank returns a record to scan into.
	Blank() fsm.Record
	// ParseID reads the text form of an id.
	ParseID(text string) (any, error)
	// Create decides a creation. The error is a *fsm.Rejection.
	Create(id string, e fsm.Event, in fsm.Input) (fsm.Decision, error)
	// Fire decides an event. The error is a *fsm.Rejection.
	Fire(r fsm.Record, e fsm.Event, in fsm.Input) (fsm.Decision, error)
	// TableWrite returns an effect on a table as data.
	TableWrite(e fsm.Effect) (fsm.TableWrite, error)
}

// machineSet holds the machines of the cases. They have no handlers, since a store calls
// none.
type machineSet[Tx any] struct {
	Activates     *activate.Definition[Tx]
	Deals         *deal.Definition[Tx]
	WALs          *wal.Definition[Tx]
	Downloads     *download.Definition[Tx]
	Unpacks       *unpack.Definition[Tx]
	Registrations *registration.Definition[Tx]
}

func newMachineSet[Tx any]() machineSet[Tx] {
	return machineSet[Tx]{
		Activates: activate.Define[Tx](nil), Deals: deal.Define[Tx](nil, deal.DefaultParams()), WALs: wal.Define[Tx](nil, wal.DefaultParams()),
		Downloads: download.Define[Tx](nil, download.DefaultParams()),
		Unpacks:   unpack.Define[Tx](nil, unpack.DefaultParams()), Registrations: registration.Define[Tx](nil, registration.DefaultParams()),
	}
}

// machines lists the machines. A machine comes before those that it refers to.
func (c machineSet[Tx]) machines() []Machine {
	return []Machine{c.Activates, c.Unpacks, c.Downloads, c.Deals, c.WALs, c.Registrations}
}

// Machines returns the machines of the suite. A Subject whose tables take long to create
// can start from a copy of a database that has them.
func Machines[Tx any]() []Machine { return newMachineSet[Tx]().machines() }

// funded saves a deal whose deposit has arrived.
func (f *Fixture[Tx]) funded() Versioned {
	f.Helper()
	h := f.deal()
	h = f.saveEvent(h, deal.SubmitOffer{}, Advertiser)
	h = f.saveEvent(h, deal.Accept{}, Owner)
	h = f.saveEvent(h, deal.AddressReady{DepositAddress: "addr-" + h.id}, fsm.System())
	return f.saveEvent(h, deal.DepositConfirmed{TxHash: "tx-" + h.id, AmountNano: 100}, fsm.System())
}

// downloaded saves a run whose file waits for validation.
func (f *Fixture[Tx]) downloaded(image string) Versioned {
	f.Helper()
	h := f.saveEvent(f.new(f.Downloads), download.Start{ImageID: image, S3Key: "k", Bucket: "b"}, fsm.System())
	h = f.saveEvent(h, download.Checked{}, fsm.System())
	return f.saveEvent(h, download.Downloaded{LocalPath: "/tmp/x", Checksum: "c", SizeBytes: 3}, fsm.System())
}

// External is the caller that registers nodes.
var External = registration.ByExternal("x-1").Caller()

// Register has a complete payload.
var Register = registration.Register{
	Payload:      fsm.Some(fsm.JSON(`{"node":1}`)),
	DeploymentID: fsm.Some("d"), Environment: fsm.Some("e"), NetworkID: fsm.Some("n"),
	ConsulServiceID: fsm.Some("c"), ConsulServiceName: fsm.Some("s"), ConsulTags: fsm.Some([]string{"a", `b"c`}),
	ConsulHealthCheck: fsm.Some(fsm.JSON(`{"http":"x"}`)), PostgresRecord: fsm.Some(fsm.JSON(`{"k":[1,"two"]}`)),
}

// Registered saves a registration that is being validated.
func (f *Fixture[Tx]) Registered(node string) Versioned {
	f.Helper()
	h := f.saveEvent(f.new(f.Registrations), registration.Create{NodeID: node}, External)
	return f.saveEvent(h, Register, External)
}

// walRecord saves a pending ingest unit.
func (f *Fixture[Tx]) walRecord(object string) Versioned {
	f.Helper()
	return f.saveEvent(f.new(f.WALs), wal.Discover{Dataset: "d", ObjectURI: object, TimeRangeStart: StartTime}, fsm.Caller{Role: "worker", ID: "w-1"})
}
