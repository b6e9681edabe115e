package escrow_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/machines/escrow"
	"example.com/machines/runtime/fsm"
)

var (
	orderID = fsm.UUID{0: 0xab, 15: 1}
	now     = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("east", 3600))
	instant = time.Date(2026, 3, 1, 11, 0, 0, 123456000, time.UTC)
	buyer   = escrow.ByBuyer(7)
	seller  = escrow.BySeller(9)
	clerk   = escrow.ByClerk(1)
)

func offered(t *testing.T) escrow.Record {
	t.Helper()
	r, steps, err := escrow.NewRecord(orderID, escrow.Offer{SellerID: 9, Price: 50}, buyer, now)
	if err != nil || steps.Len() != 1 || steps.Last() != escrow.TransitionOffer {
		t.Fatalf("offer: %v, %v", steps, err)
	}
	return r
}

func paid(t *testing.T, amount int64) escrow.Record {
	t.Helper()
	r := offered(t)
	r.Price = amount
	if _, err := r.Pay(escrow.Pay{Tx: "t1", Amount: amount}, escrow.BySystem(), escrow.DefaultParams(), now); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCreation(t *testing.T) {
	want := escrow.Record{OrderID: orderID, State: escrow.Offered, BuyerID: 7, SellerID: 9, Price: 50}
	if r := offered(t); !reflect.DeepEqual(r, want) {
		t.Errorf("got %+v, want %+v", r, want)
	}
	for name, tt := range map[string]struct {
		by     escrow.Actor
		price  int64
		reason error
	}{
		"wrong role":  {seller, 50, fsm.ErrNotAllowed},
		"no id":       {escrow.Actor{Role: escrow.RoleBuyer}, 50, fsm.ErrNotAllowed},
		"no role":     {escrow.Actor{}, 50, fsm.ErrNotAllowed},
		"free":        {buyer, 0, fsm.ErrInvalidEvent},
		"system":      {escrow.BySystem(), 50, fsm.ErrNotAllowed},
		"seller acts": {clerk, 50, fsm.ErrNotAllowed},
	} {
		r, steps, err := escrow.NewRecord(orderID, escrow.Offer{SellerID: 9, Price: tt.price}, tt.by, now)
		if !errors.Is(err, tt.reason) || steps.Len() != 0 || !reflect.DeepEqual(r, escrow.Record{}) {
			t.Errorf("%s: got %v, %v, want %v", name, steps, err, tt.reason)
		}
	}
}

func TestTimesAreCutToMicroseconds(t *testing.T) {
	r := paid(t, 50)
	if r.PaidAt.V != instant || r.Due.V != instant.Add(48*time.Hour) {
		t.Errorf("paid at %v, due %v", r.PaidAt, r.Due)
	}
	late := instant.Add(time.Hour)
	if _, err := r.Extend(escrow.Extend{Due: late.Add(999).In(time.FixedZone("west", -3600))}, clerk, now); err != nil || r.Due.V != late {
		t.Errorf("due %v, %v", r.Due, err)
	}
}

func TestChainTakesAllStepsOrNone(t *testing.T) {
	r := paid(t, 50)
	steps, err := r.Judge(escrow.Judge{Verdict: escrow.VerdictKeep}, clerk, now)
	if err != nil || steps.Len() != 2 || steps.At(0) != escrow.TransitionJudge || steps.At(1) != escrow.TransitionRelease || r.State != escrow.Released {
		t.Fatalf("got %v, %v in %s", steps, err, r.State)
	}
	r = paid(t, 500) // too much to give back: the raised event is refused
	before := r
	_, err = r.Judge(escrow.Judge{Verdict: escrow.VerdictReturnIt}, clerk, now)
	if !errors.Is(err, fsm.ErrGuardFailed) || !reflect.DeepEqual(r, before) {
		t.Fatalf("got %v, record %+v", err, r)
	}
	var x *fsm.Rejection
	if !errors.As(err, &x) || x.State != "judged" || x.Event != "settle" || x.Actor != "system" {
		t.Errorf("rejection %+v does not speak of the raised event", x)
	}
}

func TestSingleStepsReportWhatTheyRaise(t *testing.T) {
	r, whole := paid(t, 50), paid(t, 50)
	c := escrow.Call{By: clerk, Params: escrow.DefaultParams(), Now: now}
	var e escrow.Payload = escrow.Judge{Verdict: escrow.VerdictKeep}
	for e != nil {
		steps, err := escrow.Step(&r, e, c)
		if err != nil || steps.Len() != 1 {
			t.Fatalf("%s: %v, %v", e.Event(), steps, err)
		}
		raised := escrow.Raised(steps.Last(), &r, e, c)
		if (raised != nil) != (steps.Last().Raises() != 0) {
			t.Errorf("%s raises %v, the table says %s", steps.Last(), raised, steps.Last().Raises())
		}
		e, c.By = raised, escrow.BySystem()
	}
	if _, err := escrow.Fire(&whole, escrow.Judge{Verdict: escrow.VerdictKeep}, escrow.Call{By: clerk, Now: now}); err != nil || !reflect.DeepEqual(r, whole) {
		t.Errorf("two steps end in %+v, one call in %+v (%v)", r, whole, err)
	}
}

func TestRejectionsExplainThemselves(t *testing.T) {
	p := escrow.DefaultParams()
	r := offered(t)
	r.Reminders = 3
	for want, fire := range map[string]func() error{
		"escrow: judge by clerk in offered: no transition; possible: remind": func() error {
			_, err := r.Judge(escrow.Judge{Verdict: escrow.VerdictKeep}, clerk, now)
			return err
		},
		"escrow: remind by seller in offered: guard failed: remind wants reminders < $limit (reminders is 3, limit is 3)": func() error {
			_, err := r.Remind(seller, p, now)
			return err
		},
		"escrow: remind by buyer in offered: not allowed": func() error {
			_, err := r.Remind(buyer, p, now)
			return err
		},
		"escrow: remind by seller in offered: not allowed": func() error {
			_, err := r.Remind(escrow.BySeller(10), p, now)
			return err
		},
		"escrow: pay by system in offered: refused as too_late: pay wants amount == $price (amount is 1, price is 50)": func() error {
			_, err := r.Pay(escrow.Pay{Tx: "t", Amount: 1}, escrow.BySystem(), p, now)
			return err
		},
		"escrow: pay by system in offered: invalid event: tx is empty": func() error {
			_, err := r.Pay(escrow.Pay{Amount: 50}, escrow.BySystem(), p, now)
			return err
		},
		"escrow: judge by clerk in offered: invalid event: verdict is not a verdict": func() error {
			_, err := r.Judge(escrow.Judge{}, clerk, now)
			return err
		},
		"escrow: drop by buyer in offered: guard failed: drop wants reason matches ^[a-z]+$ (reason is absent)": func() error {
			_, err := r.Drop(escrow.Drop{}, buyer, now)
			return err
		},
	} {
		before := r
		err := fire()
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if !reflect.DeepEqual(r, before) {
			t.Errorf("%s changed the record", want)
		}
	}
}

func TestAFieldThatBreaksItsPromiseIsNotStored(t *testing.T) {
	p := escrow.DefaultParams()
	p.Limit = 9
	r := offered(t)
	r.Reminders = 3
	if _, err := r.Remind(clerk, p, now); !errors.Is(err, fsm.ErrOutOfRange) {
		t.Errorf("a fourth reminder: %v", err)
	}
	r.Reminders = 1<<63 - 1
	p.Limit = 1<<63 - 1
	if _, err := r.Remind(clerk, p, now); !errors.Is(err, fsm.ErrGuardFailed) {
		t.Errorf("reminders at the limit: %v", err)
	}
	r = offered(t)
	r.Paid = fsm.Some(int64(49))
	if _, err := r.Pay(escrow.Pay{Tx: "t", Amount: 50}, escrow.BySystem(), p, now); !errors.Is(err, fsm.ErrImmutable) {
		t.Errorf("a second payment: %v", err)
	}
	r = offered(t)
	if _, err := r.Pay(escrow.Pay{Tx: "t", Amount: 50}, escrow.BySystem(), p, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)); !errors.Is(err, fsm.ErrOverflow) {
		t.Errorf("due in the year 10000: %v", err)
	}
	r = paid(t, 50)
	r.Price = 51
	if _, err := r.Extend(escrow.Extend{Due: now.Add(time.Hour)}, clerk, now); !errors.Is(err, fsm.ErrHoldsFailed) ||
		!strings.Contains(err.Error(), "paid_in wants paid == $price (paid is 50, price is 51)") {
		t.Errorf("a record that lies: %v", err)
	}
	r.State = 77
	if _, err := r.Lapse(escrow.BySystem(), now); !errors.Is(err, fsm.ErrCorrupt) {
		t.Errorf("a state of its own: %v", err)
	}
	if r.View() != nil {
		t.Errorf("a view of state 77")
	}
}

func TestRepeatIsToldApart(t *testing.T) {
	r := offered(t)
	if _, err := r.Lapse(escrow.BySystem(), now); err != nil {
		t.Fatal(err)
	}
	if steps, err := r.Lapse(escrow.BySystem(), now); err != nil || steps.Len() != 0 {
		t.Errorf("the same again: %v, %v", steps, err)
	}
	if _, err := r.Lapse(clerk, now); !errors.Is(err, fsm.ErrInvalidTransition) {
		t.Errorf("the same by another: %v", err)
	}
	r = paid(t, 50)
	if _, err := r.Pay(escrow.Pay{Tx: "t2", Amount: 50}, escrow.BySystem(), escrow.DefaultParams(), now); !errors.Is(err, fsm.ErrInvalidTransition) {
		t.Errorf("a keyed event is never already there: %v", err)
	}
}

func TestEffectsAreData(t *testing.T) {
	r := offered(t)
	e := escrow.Pay{Tx: "t1", Amount: 50}
	c := escrow.Call{By: escrow.BySystem(), Params: escrow.DefaultParams(), Now: now}
	steps, err := escrow.Fire(&r, e, c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(escrow.Effects(steps.Last(), &r, e, c))
	want := `[{"name":"ledger","kind":"call","payload":{"order_id":"ab000000-0000-0000-0000-000000000001","amount":50,"tx":"t1",` +
		`"was":"offered","is":"paid_in","at":"2026-03-01T11:00:00.123456Z"}},{"name":"log_it","kind":"log","payload":null}]`
	if err != nil || string(got) != want {
		t.Errorf("got  %s\nwant %s\n%v", got, want, err)
	}
	for reminders, names := range map[int64][]string{0: {"notify", "log_it"}, 1: {"notify", "escrow_reminders", "log_it"}} {
		r := offered(t)
		r.Reminders = reminders
		steps, err := r.Remind(clerk, c.Params, now)
		if err != nil {
			t.Fatal(err)
		}
		var listed []string
		for _, x := range escrow.Effects(steps.Last(), &r, escrow.Remind{}, c) {
			listed = append(listed, x.Name)
		}
		if !reflect.DeepEqual(listed, names) {
			t.Errorf("after %d reminders: %v, want %v", reminders, listed, names)
		}
	}
}

func TestDeadlines(t *testing.T) {
	c := escrow.Call{Params: escrow.Params{Patience: time.Hour}, Now: now}
	r := offered(t)
	if d, ok := escrow.DeadlineOf(&r, c); !ok || d.At != instant.Add(time.Hour) || d.Fire != (escrow.Lapse{}) || d.Follows {
		t.Errorf("offered: %+v, %v", d, ok)
	}
	r = paid(t, 50)
	if d, ok := escrow.DeadlineOf(&r, c); !ok || d.At != r.Due.V || d.Fire != (escrow.Judge{Verdict: escrow.VerdictReturnIt}) || !d.Follows {
		t.Errorf("paid_in: %+v, %v", d, ok)
	}
	r.Due = fsm.None[time.Time]()
	if d, ok := escrow.DeadlineOf(&r, c); ok {
		t.Errorf("without a due date: %+v", d)
	}
}

func TestRecordSurvivesJSONAndSQL(t *testing.T) {
	r := paid(t, 50)
	r.Tags = fsm.Some([]string{"a", `b "c", {d}`})
	r.Verdict = fsm.Some(escrow.VerdictReturnIt)
	r.Note = fsm.Some(fsm.JSON(`{"a":1}`))
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back escrow.Record
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, r) {
		t.Errorf("JSON %s gives %+v, %v", data, back, err)
	}
	if len(escrow.Columns()) != len(r.Values()) || len(r.Values()) != len(r.Pointers()) {
		t.Fatal("columns, values and pointers differ in number")
	}
	var scanned escrow.Record
	for i, p := range scanned.Pointers() {
		v := r.Values()[i]
		switch at := v.(type) {
		case time.Time: // as SQLite stores it
			v = at.Format(fsm.TimeLayout)
		case []string: // as PostgreSQL answers
			v = `{a,"b \"c\", {d}"}`
		}
		if err := p.(fsm.Scanner).Scan(v); err != nil {
			t.Errorf("%s: %v", escrow.Columns()[i], err)
		}
	}
	if !reflect.DeepEqual(scanned, r) {
		t.Errorf("SQL gives %+v, want %+v", scanned, r)
	}
}

func TestDecodeEventIsStrict(t *testing.T) {
	e, err := escrow.DecodeEvent("pay", []byte(`{"tx":"t","amount":5}`))
	if err != nil || e != (escrow.Pay{Tx: "t", Amount: 5}) {
		t.Errorf("got %v, %v", e, err)
	}
	for name, data := range map[string]string{
		"tx": `{"amount":5}`, "amount": `{"tx":"t","amount":null}`, "color": `{"tx":"t","amount":5,"color":1}`, "payload": `[`,
	} {
		_, err := escrow.DecodeEvent("pay", []byte(data))
		var x *fsm.Rejection
		if !errors.As(err, &x) || !errors.Is(err, fsm.ErrInvalidEvent) || x.Field != name {
			t.Errorf("%s: got %v, want a complaint about %s", data, err, name)
		}
	}
	for _, data := range []string{`{"tx":"\u0000","amount":5}`, "{\"tx\":\"\xff\",\"amount\":5}"} {
		if _, err := escrow.DecodeEvent("pay", []byte(data)); !errors.Is(err, fsm.ErrInvalidEvent) {
			t.Errorf("%q was taken: %v", data, err)
		}
	}
	if _, err := escrow.DecodeEvent("pray", []byte(`{}`)); !errors.Is(err, fsm.ErrInvalidEvent) {
		t.Errorf("an unknown event: %v", err)
	}
}

func TestTypedView(t *testing.T) {
	r := offered(t)
	in, ok := r.View().(escrow.InOffered)
	if !ok {
		t.Fatalf("view is %T", r.View())
	}
	v, err := escrow.FirePay(in, escrow.Pay{Tx: "t", Amount: 50}, escrow.BySystem(), escrow.DefaultParams(), now)
	if _, ok := v.(escrow.InPaidIn); !ok || err != nil {
		t.Errorf("view is %T, %v", v, err)
	}
	if state := in.Record().State; state != escrow.Offered || r.State != escrow.Offered {
		t.Errorf("firing changed the view that it was given, or its record: %s, %s", state, r.State)
	}
	refused, err := escrow.FirePay(in, escrow.Pay{Tx: "t", Amount: -1}, escrow.BySystem(), escrow.DefaultParams(), now)
	if refused != nil || err == nil {
		t.Errorf("a refused event gives %T, %v", refused, err)
	}
}

func TestAcceptedStepsDoNotAllocate(t *testing.T) {
	p := escrow.DefaultParams()
	fresh, ready := offered(t), paid(t, 50)
	for name, fire := range map[string]func() error{
		"step": func() error {
			r := fresh
			_, err := r.Pay(escrow.Pay{Tx: "t", Amount: 50}, escrow.BySystem(), p, now)
			return err
		},
		"chain": func() error {
			r := ready
			_, err := r.Judge(escrow.Judge{Verdict: escrow.VerdictKeep}, clerk, now)
			return err
		},
		"internal": func() error {
			r := fresh
			_, err := r.Remind(seller, p, now)
			return err
		},
		"creation": func() error {
			_, _, err := escrow.NewRecord(orderID, escrow.Offer{SellerID: 9, Price: 50}, buyer, now)
			return err
		},
	} {
		var err error
		if n := testing.AllocsPerRun(200, func() { err = fire() }); n != 0 || err != nil {
			t.Errorf("%s: %v allocations, %v", name, n, err)
		}
	}
	var to escrow.State
	if n := testing.AllocsPerRun(200, func() {
		for _, x := range []escrow.Transition{escrow.TransitionPay, escrow.TransitionJudge} {
			to = x.To()
			_ = x.Effects()
		}
	}); n != 0 || to != escrow.Judged {
		t.Errorf("reading the table: %v allocations", n)
	}
}

// The engine's face takes all steps of a chain or none, and knows the event's own
// key.
func TestDefinitionTakesAllStepsOrNone(t *testing.T) {
	m := escrow.Define[string](nil, escrow.DefaultParams())
	event := func(p fsm.Payload) fsm.Event {
		e, err := fsm.EventOf(p)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	r := escrow.Record{OrderID: orderID, State: escrow.PaidIn, BuyerID: 7, SellerID: 9, Price: 200, Paid: fsm.Some[int64](200), Due: fsm.Some(now)}
	before := r
	by := fsm.Input{By: clerk.Caller(), Now: now}
	judged := event(escrow.Judge{Verdict: escrow.VerdictReturnIt})
	var x *fsm.Rejection
	d, err := m.Fire(&r, judged, by)
	if !errors.As(err, &x) || x.Event != "settle" || d.Steps != nil || d.Record != nil {
		t.Errorf("a chain whose second step is refused: %+v, %v", d, err)
	}
	by.Single = true
	if d, err = m.Fire(&r, judged, by); err != nil || len(d.Steps) != 1 || d.Raised == nil || string(d.Raised.Payload) != `{"why":"judged"}` {
		t.Errorf("its first step alone: %+v, %v", d, err)
	}
	if !reflect.DeepEqual(r, before) {
		t.Errorf("the record has changed: %+v", r)
	}
	by.Single = false
	d, err = m.Fire(&r, event(escrow.Judge{Verdict: escrow.VerdictKeep}), by)
	if err != nil || len(d.Steps) != 2 || d.Record.StateName() != "released" || d.Steps[0].By.Role != "clerk" || d.Steps[1].By.Role != "system" {
		t.Errorf("both steps: %+v, %v", d, err)
	}
	// A deadline that follows its field moves with an internal step.
	d, err = m.Fire(&r, event(escrow.Extend{Due: now.Add(time.Hour)}), fsm.Input{By: clerk.Caller(), Now: now.Add(-time.Minute)})
	if err != nil || len(d.Steps) != 1 || d.Steps[0].KeepDeadline || d.Steps[0].Deadline == nil || !d.Steps[0].Deadline.At.Equal(instant.Add(time.Hour)) {
		t.Errorf("extended: %+v, %v", d, err)
	}
	if key, ok := m.KeyOf(event(escrow.Pay{Tx: "t9", Amount: 1}), nil); !ok || key != "pay:t9" {
		t.Errorf("key %q, %v", key, ok)
	}
}
