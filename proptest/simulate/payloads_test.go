package simulate

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
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
	"github.com/fsmgen/fsmgen/proptest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// decoder reads the payload struct of an event.
type decoder func(name string, data []byte) (fsm.Payload, error)

func decodedBy[P fsm.Payload](decode func(string, []byte) (P, error)) decoder {
	return func(name string, data []byte) (fsm.Payload, error) { return decode(name, data) }
}

func decoders() map[string]decoder {
	return map[string]decoder{
		activate.MachineName: decodedBy(activate.DecodeEvent), deal.MachineName: decodedBy(deal.DecodeEvent),
		download.MachineName: decodedBy(download.DecodeEvent), gc.MachineName: decodedBy(gc.DecodeEvent),
		outbox.MachineName: decodedBy(outbox.DecodeEvent), publish.MachineName: decodedBy(publish.DecodeEvent),
		registration.MachineName: decodedBy(registration.DecodeEvent), transfer.MachineName: decodedBy(transfer.DecodeEvent),
		unpack.MachineName: decodedBy(unpack.DecodeEvent), upload.MachineName: decodedBy(upload.DecodeEvent),
		wal.MachineName: decodedBy(wal.DecodeEvent),
	}
}

// A payload struct and its JSON decide alike: the same steps with the same stored payloads, or the
// same rejection. The struct is decoded again only where it shares memory, or has JSON.
func TestPayloadsDecideAlike(t *testing.T) {
	tables, err := proptest.Machines("../../spec")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range allMachines[any]() {
		t.Run(m.Name(), func(t *testing.T) {
			t.Parallel()
			var table *ir.Machine
			for _, other := range tables {
				if other.Text == m.Name() {
					table = other
				}
			}
			c := comparison{t: t, machine: m, table: table, decode: decoders()[m.Name()]}
			if c.decode == nil {
				t.Fatal("decoders() lacks the machine")
			}
			for seed := range uint64(300) {
				c.walk(newRNG(seed))
			}
			t.Logf("%d events accepted, %d rejected, %d of them typed", c.accepted, c.rejected, c.typed)
			if c.accepted == 0 || c.rejected == 0 || c.typed == 0 {
				t.Errorf("%d events accepted, %d rejected, %d of them typed: none must be 0", c.accepted, c.rejected, c.typed)
			}
		})
	}
}

type comparison struct {
	t                         *testing.T
	machine                   engine.Machine[any]
	table                     *ir.Machine
	decode                    decoder
	accepted, rejected, typed int
}

// walk fires events at a record, each in both ways.
func (c *comparison) walk(r *rng) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 6000, time.UTC)
	var record fsm.Record
	for range 12 {
		state, err := known(c.table, record)
		if err != nil {
			c.t.Fatal(err)
		}
		a := generator{rng: r, table: c.table, record: state, now: now}
		raw := a.event(c.event(r, record))
		payload, err := c.decode(raw.Name, raw.Payload)
		if err != nil {
			continue // no struct has it
		}
		typed, err := fsm.EventOf(payload)
		if err != nil {
			c.t.Fatal(err)
		}
		if typed.Value() != nil {
			c.typed++
		}
		in := fsm.Input{By: fsm.System(), Now: now, Single: r.chance(500)}
		if len(c.table.Actors) > 0 && r.chance(500) {
			in.By = fsm.Caller{Role: oneOf(r, c.table.Actors).Text, ID: "1"}
		}
		now = now.Add(r.span(0, time.Hour))
		if d, ok := c.both(record, raw, typed, in); ok {
			record = d.Record
		}
	}
}

// event chooses an event, most often one with a row from the state of the record.
func (c *comparison) event(r *rng, record fsm.Record) *ir.Event {
	state := ""
	if record != nil {
		state = record.StateName()
	}
	var fitting []*ir.Event
	for _, row := range c.table.Rows {
		if row.From == nil && state == "" || row.From != nil && row.From.Text == state {
			fitting = append(fitting, row.Event)
		}
	}
	if len(fitting) > 0 && r.chance(800) {
		return oneOf(r, fitting)
	}
	return oneOf(r, c.table.Events)
}

// both decides an event as JSON and as a struct. It returns the decision, if there is one.
func (c *comparison) both(record fsm.Record, raw, typed fsm.Event, in fsm.Input) (fsm.Decision, bool) {
	c.t.Helper()
	decide := func(e fsm.Event) (fsm.Decision, error) {
		if record == nil {
			return c.machine.Create("00000000-0000-4000-9000-000000000001", e, in)
		}
		return c.machine.Fire(record, e, in)
	}
	want, wantErr := decide(raw)
	got, gotErr := decide(typed)
	if (wantErr == nil) != (gotErr == nil) || wantErr != nil && wantErr.Error() != gotErr.Error() {
		c.t.Fatalf("%s %s: JSON gives %v, the struct %v", raw.Name, raw.Payload, wantErr, gotErr)
	}
	if wantErr != nil {
		c.rejected++
		return want, false
	}
	if !reflect.DeepEqual(got, want) {
		c.t.Fatalf("%s %s: JSON gives %+v, the struct %+v", raw.Name, raw.Payload, want, got)
	}
	c.accepted++
	return want, true
}

// What a caller's struct shares with him, or what decoding would change or refuse, is decoded.
func TestOnlyPlainPayloadsStayTyped(t *testing.T) {
	for name, c := range map[string]struct {
		payload fsm.Payload
		typed   bool
	}{
		"plain":    {deal.DepositConfirmed{TxHash: "a", AmountNano: 1}, true},
		"pointer":  {&deal.DepositConfirmed{TxHash: "a", AmountNano: 1}, false},
		"no UTF-8": {deal.DepositConfirmed{TxHash: "a\xff", AmountNano: 1}, false},
		"NUL":      {deal.DepositConfirmed{TxHash: "a\x00", AmountNano: 1}, false},
		"list":     {registration.Register{}, false},
		"JSON":     {fsm.Event{Name: "PAY", Payload: []byte("{}")}, false},
	} {
		e, err := fsm.EventOf(c.payload)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if typed := e.Value() != nil; typed != c.typed {
			t.Errorf("%s: typed is %t, want %t", name, typed, c.typed)
		}
	}
	e, err := fsm.EventOf(deal.DepositConfirmed{TxHash: "a\x00", AmountNano: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := deal.Define[any](nil, deal.DefaultParams())
	_, err = m.Fire(&deal.Record{State: deal.AwaitingPayment}, e, fsm.Input{By: fsm.System()})
	if err == nil || !strings.Contains(err.Error(), "NUL") {
		t.Errorf("a payload with a NUL character: %v", err)
	}
}

// An event whose payload is a plain struct is encoded once and never decoded. Measured: 11
// allocations for a struct of two fields, 40 for JSON.
func TestTypedPayloadAllocations(t *testing.T) {
	m := deal.Define[any](nil, deal.DefaultParams())
	record := &deal.Record{State: deal.AwaitingPayment, AdvertiserID: 1, OwnerID: 2, PriceNano: 5, Escrow: deal.EscrowNone, DepositAddress: fsm.Some("a"), SurplusAboveNano: fsm.Some[int64](6)}
	in := fsm.Input{By: fsm.System(), Now: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	payload := deal.DepositConfirmed{TxHash: "tx", AmountNano: 5, Withheld: 1}
	encoded, err := fsm.EventOf(payload)
	if err != nil {
		t.Fatal(err)
	}
	measure := func(event func() fsm.Payload) float64 {
		return testing.AllocsPerRun(100, func() {
			e, err := fsm.EventOf(event())
			if err == nil {
				_, err = m.Fire(record, e, in)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	typed := measure(func() fsm.Payload { return payload })
	raw := measure(func() fsm.Payload { return fsm.Event{Name: encoded.Name, Payload: encoded.Payload} })
	t.Logf("%.0f allocations for a struct, %.0f for JSON", typed, raw)
	if typed > raw/2 {
		t.Errorf("%.0f allocations for a struct, and %.0f for JSON: more than half", typed, raw)
	}
}
