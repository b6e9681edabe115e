// Package service runs all eleven machines: a stand-in for the systems outside carries out their
// effects, and callers fire the events that move the records on.
package service

import (
	"database/sql"
	"time"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/gc"
	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/generated/publish"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/generated/upload"
	"github.com/fsmgen/fsmgen/generated/wal"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

type tx = *sql.Tx

// Machines returns all eleven machines in the order in which they are shown.
func Machines(o Outside) []engine.Machine[tx] {
	d, r := deal.DefaultParams(), registration.DefaultParams()
	d.OfferTimeout, d.VerificationTimeout = 2*time.Minute, 2*time.Minute
	r.ValidatingTimeout, r.RegisteringPostgresTimeout = time.Minute, time.Minute
	r.RegisteringConsulTimeout, r.DeregisteringTimeout = time.Minute, time.Minute
	w := wal.Params{MaxAttempts: maxClaims, ClaimTimeout: 4 * time.Minute}
	return []engine.Machine[tx]{
		standIn{deal.Define[tx](nil, d), o, dealAnswer},
		standIn{registration.Define[tx](nil, r), o, registrationAnswer},
		standIn{download.Define[tx](nil, download.DefaultParams()), o, downloadAnswer},
		standIn{unpack.Define[tx](nil, unpack.DefaultParams()), o, unpackAnswer},
		standIn{activate.Define[tx](nil), o, activateAnswer},
		standIn{upload.Define[tx](nil), o, noAnswer},
		standIn{publish.Define[tx](nil), o, noAnswer},
		standIn{gc.Define[tx](nil, gc.Params{Retention: time.Minute}), o, gcAnswer},
		standIn{outbox.Define[tx](nil, outbox.Params{MaxAttempts: 3, Lease: time.Minute}), o, noAnswer},
		standIn{wal.Define[tx](nil, w), o, walAnswer},
		standIn{transfer.Define[tx](nil, transfer.DefaultParams()), o, transferAnswer},
	}
}

// In is where callers fire: an engine with the machines, its clock, and how many records of each
// machine they open.
type In struct {
	Engine   *engine.Engine[tx]
	Machines []engine.Machine[tx]
	Clock    engine.Clock
	Records  int
}

// CallersOf returns the callers of each machine, in the order of the machines.
func CallersOf(in In, o Outside) []Callers {
	m, e := in.Machines, in.Engine
	deals, registrations, downloads, unpacks, activates := deal.In(e), registration.In(e), download.In(e), unpack.In(e), activate.In(e)
	uploads, versions, blobs, messages, units := upload.In(e), publish.In(e), gc.In(e), outbox.In(e), wal.In(e)
	transfers := transfer.In(e)
	return []Callers{
		play(in, m[0], dealScript(), deals.Calls.Calls, deals.Records),
		play(in, m[1], registrationScript(), registrations.Calls.Calls, registrations.Records),
		play(in, m[2], downloadScript(), downloads.Calls.Calls, downloads.Records),
		play(in, m[3], script[unpack.Payload, *unpack.Record]{}, unpacks.Calls.Calls, unpacks.Records),
		play(in, m[4], script[activate.Payload, *activate.Record]{}, activates.Calls.Calls, activates.Records),
		play(in, m[5], uploadScript(o), uploads.Calls.Calls, uploads.Records),
		play(in, m[6], publishScript(), versions.Calls.Calls, versions.Records),
		play(in, m[7], gcScript(), blobs.Calls.Calls, blobs.Records),
		play(in, m[8], outboxScript(), messages.Calls.Calls, messages.Records),
		play(in, m[9], walScript(), units.Calls.Calls, units.Records),
		play(in, m[10], script[transfer.Payload, *transfer.Record]{}, transfers.Calls.Calls, transfers.Records),
	}
}
