package golang_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/gc"
	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/generated/publish"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/generated/upload"
	"github.com/fsmgen/fsmgen/generated/wal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// face is what an engine asks of a machine.
type face interface {
	Name() string
	Version() string
	Effects() []fsm.EffectInfo
	States() []string
	TerminalStates() []string
	Tables() fsm.Tables
	Schema(dialect string) (string, error)
	Blank() fsm.Record
	ParseID(text string) (any, error)
	Create(id string, e fsm.Event, in fsm.Input) (fsm.Decision, error)
	Fire(r fsm.Record, e fsm.Event, in fsm.Input) (fsm.Decision, error)
	Legal(r fsm.Record, by fsm.Caller, now time.Time) ([]fsm.Verdict, error)
	DeadlineOf(r fsm.Record, entered time.Time) *fsm.Deadline
	KeyOf(e fsm.Event, r fsm.Record) (string, bool)
	FatalEvent() (fsm.Event, bool)
	HandleTx(ctx context.Context, tx string, d fsm.Dispatch) error
	Handle(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error)
	Query(ctx context.Context, d fsm.Dispatch) (answer *fsm.Event, done bool, err error)
	FailEvent(effect, message string) *fsm.Event
	LostEvent(effect string) *fsm.Event
	CleanupOf(effect string, r fsm.Record, now time.Time) (fsm.Effect, bool)
	TableWrite(e fsm.Effect) (fsm.TableWrite, error)
	StartOf(e fsm.Effect) (fsm.Start, error)
}

func definitions() []face {
	return []face{
		upload.Define[string](nil),
		publish.Define[string](nil),
		outbox.Define[string](nil, outbox.DefaultParams()),
		gc.Define[string](nil, gc.DefaultParams()),
		registration.Define[string](nil, registration.DefaultParams()),
		download.Define[string](nil, download.DefaultParams()),
		unpack.Define[string](nil, unpack.DefaultParams()),
		activate.Define[string](nil),
		wal.Define[string](nil, wal.DefaultParams()),
		deal.Define[string](nil, deal.DefaultParams()),
	}
}

const (
	someID  = "01234567-89ab-cdef-0123-456789abcdef"
	otherID = "11234567-89ab-cdef-0123-456789abcdef"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// in is the input of a caller with a role and perhaps an id.
func in(role string, id ...string) fsm.Input {
	return fsm.Input{By: fsm.Caller{Role: role, ID: strings.Join(id, "")}, Now: start}
}

func eventOf(t *testing.T, p fsm.Payload) fsm.Event {
	t.Helper()
	e, err := fsm.EventOf(p)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestDefinitions demands of every machine of the repository that what its
// Definition says fits together.
func TestDefinitions(t *testing.T) {
	for _, m := range definitions() {
		t.Run(m.Name(), func(t *testing.T) {
			tables, blank := m.Tables(), m.Blank()
			if cols := blank.Columns(); !slices.Equal(cols, tables.Columns) || cols[0] != tables.ID || cols[1] != tables.State ||
				len(blank.Values()) != len(cols) || len(blank.Pointers()) != len(cols) {
				t.Errorf("columns do not fit: %v, tables %+v", cols, tables)
			}
			for _, dialect := range []string{"postgres", "sqlite"} {
				ddl, err := m.Schema(dialect)
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range append([]string{tables.Record, tables.History}, tables.Others...) {
					if !strings.Contains(ddl, "CREATE TABLE "+name+" (") {
						t.Errorf("%s: no table %s", dialect, name)
					}
				}
				for _, column := range []string{tables.From, tables.To} {
					if !strings.Contains(ddl, "\n    "+column+" ") {
						t.Errorf("%s: no column %s", dialect, column)
					}
				}
			}
			if schema, err := m.Schema("postgres"); err != nil || strings.Contains(schema, "PARTITION BY") != tables.Partitioned {
				t.Errorf("partitioned: %v, %v", tables.Partitioned, err)
			}
			if _, err := m.Schema("oracle"); err == nil {
				t.Error("a schema for oracle")
			}
			if len(m.States()) == 0 || blank.StateName() != "" || m.Version() == "" {
				t.Errorf("states %v, blank in %q, version %q", m.States(), blank.StateName(), m.Version())
			}
			for _, s := range m.TerminalStates() {
				if !slices.Contains(m.States(), s) {
					t.Errorf("%s is terminal and no state", s)
				}
			}
			for _, e := range m.Effects() {
				dispatchable(t, m, e)
			}
		})
	}
}

// dispatchable demands that a call reaches its handler by its class and by no
// other way: a payload that is none is found on that way only.
func dispatchable(t *testing.T, m face, e fsm.EffectInfo) {
	t.Helper()
	d := fsm.Dispatch{Machine: m.Name(), Effect: e.Name, Payload: json.RawMessage("[]")}
	ctx := context.Background()
	reached := func(err error) bool { return !strings.Contains(err.Error(), "no such effect") }
	_, handled := m.Handle(ctx, d)
	_, _, asked := m.Query(ctx, d)
	call := e.Kind == fsm.EffectCall
	for _, x := range []struct {
		way       string
		got, want bool
	}{
		{"HandleTx", reached(m.HandleTx(ctx, "", d)), call && e.Delivery == fsm.InTransaction},
		{"Handle", reached(handled), call && e.Delivery != fsm.InTransaction},
		{"Query", reached(asked), e.Delivery == fsm.Queryable},
		{"FailEvent", m.FailEvent(e.Name, "x") != nil, e.HasFails},
		{"LostEvent", m.LostEvent(e.Name) != nil, e.HasLost},
	} {
		if x.got != x.want {
			t.Errorf("%s of %s: %v, want %v", x.way, e.Name, x.got, x.want)
		}
	}
	if (e.Delivery == "") != (e.Kind == fsm.EffectMetric) {
		t.Errorf("%s has kind %s and delivery %q", e.Name, e.Kind, e.Delivery)
	}
}

// TestChainHasARecordPerStep fires an event that raises another.
func TestChainHasARecordPerStep(t *testing.T) {
	params := registration.DefaultParams()
	m := registration.Define[string](nil, params)
	before := registration.Record{RegistrationID: fsm.UUID{1}, State: registration.RegisteringPostgres, NodeID: "n", ConsulServiceID: fsm.Some("s"),
		ConsulServiceName: fsm.Some("web"), PostgresRecord: fsm.Some(fsm.JSON("{}"))}
	record, succeeded := before, registration.PostgresSucceeded{PostgresApplied: true}
	e := eventOf(t, succeeded)
	d, err := m.Fire(&record, e, in("system"))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(record, before) {
		t.Error("Fire changed the record it was given")
	}
	typed := before
	steps, err := registration.Fire(&typed, succeeded, registration.Call{By: registration.BySystem(), Params: params, Now: start})
	if err != nil || steps.Len() != len(d.Steps) || !reflect.DeepEqual(d.Record, &typed) {
		t.Fatalf("typed Fire takes %d steps to %v (%v), Definition %d to %v", steps.Len(), typed, err, len(d.Steps), d.Record)
	}
	first, second := d.Steps[0], d.Steps[1]
	if first.From != "registering_postgres" || first.To != "postgres_registered" || first.Record.StateName() != "postgres_registered" || first.Transition != "postgres_success" {
		t.Errorf("first step %+v", first)
	}
	if second.From != "postgres_registered" || second.To != "registering_consul" || second.Record.StateName() != "registering_consul" ||
		second.Event != "CONTINUE" || second.By != fsm.System() || string(second.Payload) != "{}" {
		t.Errorf("second step %+v", second)
	}
	if first.Deadline != nil || second.Deadline == nil || !second.Deadline.At.Equal(start.Add(params.RegisteringConsulTimeout)) ||
		second.Deadline.Fire.Name != "CONSUL_FAILED" {
		t.Errorf("timers %+v, %+v", first.Deadline, second.Deadline)
	}
	if again := m.DeadlineOf(d.Record, start); !reflect.DeepEqual(again, second.Deadline) {
		t.Errorf("DeadlineOf is %+v, the step armed %+v", again, second.Deadline)
	}
	single, err := m.Fire(&record, e, fsm.Input{By: fsm.System(), Now: start, Single: true})
	if err != nil || len(single.Steps) != 1 || single.Raised == nil || single.Raised.Name != "CONTINUE" || single.Record.StateName() != "postgres_registered" {
		t.Errorf("single: %+v, %v", single, err)
	}
}

// TestStepsSayWhatTheyKeep covers the timer of an internal step, a repeat that is
// already there, and an event in a terminal state.
func TestStepsSayWhatTheyKeep(t *testing.T) {
	m := deal.Define[string](nil, deal.DefaultParams())
	funded := &deal.Record{DealID: fsm.UUID{1}, State: deal.Funded, AdvertiserID: 7, OwnerID: 8, PriceNano: 100, Escrow: deal.EscrowHeld,
		DepositAddress: fsm.Some("EQ"), DepositTx: fsm.Some("t"), DepositNano: fsm.Some[int64](100), PayoutNano: fsm.Some[int64](100)}
	d, err := m.Fire(funded, eventOf(t, deal.MutualCancel{}), in("advertiser", "7"))
	if err != nil || len(d.Steps) != 1 {
		t.Fatal(d, err)
	}
	if s := d.Steps[0]; !s.Internal || !s.KeepDeadline || s.Deadline != nil || s.From != "FUNDED" || s.To != "FUNDED" || s.By.ID != "7" {
		t.Errorf("consent: %+v", s)
	}
	cancelled := *funded
	cancelled.State, cancelled.Escrow = deal.Cancelled, deal.EscrowNone
	d, err = m.Fire(&cancelled, eventOf(t, deal.Cancel{}), in("advertiser", "7"))
	if err != nil || len(d.Steps) != 0 || d.Record.StateName() != "CANCELLED" {
		t.Errorf("repeat: %+v, %v", d, err)
	}
	d, err = m.Fire(&cancelled, eventOf(t, deal.DepositConfirmed{TxHash: "late", AmountNano: 5}), in("system"))
	if err != nil || len(d.Steps) != 1 || !d.Steps[0].Terminal || d.Steps[0].KeepDeadline || d.Steps[0].Deadline != nil {
		t.Errorf("late deposit: %+v, %v", d, err)
	}
}

// TestRejectionsOfErasedInput covers what typed callers can't get wrong.
func TestRejectionsOfErasedInput(t *testing.T) {
	m := deal.Define[string](nil, deal.DefaultParams())
	record := &deal.Record{DealID: fsm.UUID{1}, State: deal.Draft, AdvertiserID: 7, OwnerID: 8, PriceNano: 1, Escrow: deal.EscrowNone}
	submit := fsm.Event{Name: "SUBMIT_OFFER", Payload: json.RawMessage("{}")}
	for _, tt := range []struct {
		name   string
		event  fsm.Event
		in     fsm.Input
		reason fsm.Reason
		field  string
	}{
		{"no such event", fsm.Event{Name: "DANCE", Payload: submit.Payload}, in("system"), fsm.ErrInvalidEvent, "event"},
		{"unknown field", fsm.Event{Name: "SUBMIT_OFFER", Payload: json.RawMessage(`{"x":1}`)}, in("system"), fsm.ErrInvalidEvent, "x"},
		{"no payload", fsm.Event{Name: "SUBMIT_OFFER"}, in("system"), fsm.ErrInvalidEvent, "payload"},
		{"no such role", submit, in("pirate", "7"), fsm.ErrNotAllowed, "actor"},
		{"no role", submit, in(""), fsm.ErrNotAllowed, "actor"},
		{"id of another type", submit, in("advertiser", "seven"), fsm.ErrNotAllowed, "actor"},
		{"somebody else", submit, in("advertiser", "9"), fsm.ErrNotAllowed, ""},
		{"no id", submit, in("advertiser"), fsm.ErrNotAllowed, ""},
	} {
		_, err := m.Fire(record, tt.event, tt.in)
		var x *fsm.Rejection
		if !errors.As(err, &x) || x.Reason != tt.reason || x.Field != tt.field {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, err := m.Fire(record, submit, in("advertiser", "7")); err != nil {
		t.Errorf("the right caller: %v", err)
	}
	var none *deal.Record
	for _, r := range []fsm.Record{nil, none, &wal.Record{}} {
		if _, err := m.Fire(r, submit, in("system")); err == nil {
			t.Errorf("%T is no deal", r)
		}
	}
	var x *fsm.Rejection
	if _, err := m.Create("seven", eventOf(t, deal.Create{OwnerID: 8, PriceNano: 1}), in("advertiser", "7")); !errors.As(err, &x) || x.Field != "deal_id" {
		t.Errorf("an id that is none: %v", err)
	}
	if _, err := m.Create(someID, submit, in("advertiser", "7")); !errors.Is(err, fsm.ErrInvalidTransition) {
		t.Errorf("creation by SUBMIT_OFFER: %v", err)
	}
}

func TestCallerRoundTrip(t *testing.T) {
	if c := deal.ByOwner(8).Caller(); c != (fsm.Caller{Role: "owner", ID: "8"}) {
		t.Errorf("owner: %+v", c)
	}
	if c := deal.BySystem().Caller(); c != fsm.System() {
		t.Errorf("system: %+v", c)
	}
}

func TestKeyAndFatalEvent(t *testing.T) {
	m := deal.Define[string](nil, deal.DefaultParams())
	if key, ok := m.KeyOf(eventOf(t, deal.DepositConfirmed{TxHash: "t1", AmountNano: 1}), &deal.Record{DealID: fsm.UUID{15: 1}}); !ok || key != "deposit:2:t1:36:00000000-0000-0000-0000-000000000001" {
		t.Errorf("key %q, %v", key, ok)
	}
	if key, ok := m.KeyOf(eventOf(t, deal.Accept{}), m.Blank()); ok {
		t.Errorf("ACCEPT has key %q", key)
	}
	if _, ok := m.FatalEvent(); ok {
		t.Error("a deal has no fatal event")
	}
	r := registration.Define[string](nil, registration.DefaultParams())
	e, ok := r.FatalEvent()
	if !ok || e.Name != "FATAL_ERROR" {
		t.Fatal(e, ok)
	}
	if _, err := registration.DecodeEvent(e.Name, e.Payload); err != nil {
		t.Error(err)
	}
}

func TestParseID(t *testing.T) {
	m := deal.Define[string](nil, deal.DefaultParams())
	if id, err := m.ParseID(strings.ToUpper(someID)); err != nil || id != someID {
		t.Errorf("%v, %v", id, err)
	}
	if _, err := m.ParseID("x"); err == nil {
		t.Error("x is no id")
	}
}
