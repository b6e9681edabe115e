package main

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/approval/generated/approval"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/enginetest"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

var (
	report = fsm.UUID{6: 0x40, 8: 0x80, 15: 7}
	ann    = approval.ByEmployee("ann")
	max    = approval.ByManager("max")
	dora   = approval.ByDirector("dora")
)

// filed returns an engine with a report that waits for its manager.
func filed(t *testing.T, b *bank) (*enginetest.Engine, *approval.Client[*sql.Tx]) {
	t.Helper()
	e := enginetest.New(t, approval.Define[*sql.Tx](b, approval.DefaultParams()))
	reports := approval.In(e)
	if _, err := reports.File(t.Context(), report, approval.File{ManagerID: "max", Amount: 100}, ann); err != nil {
		t.Fatal(err)
	}
	return e, reports
}

// wants fails the test unless the report is in a state.
func wants(t *testing.T, reports *approval.Client[*sql.Tx], state approval.State) {
	t.Helper()
	found, err := reports.Get(t.Context(), report)
	if err != nil {
		t.Fatal(err)
	}
	if found.Record.State != state {
		t.Fatalf("the report is in %s, want %s", found.Record.State, state)
	}
}

// TestAReportThatIsNotDecidedGoesToTheDirector moves the clock by three days; nothing sleeps.
func TestAReportThatIsNotDecidedGoesToTheDirector(t *testing.T) {
	t.Parallel()
	b := &bank{open: true, paid: map[string]bool{}}
	e, reports := filed(t, b)
	e.Clock.Advance(72*time.Hour - time.Second)
	enginetest.Drain(t, e)
	wants(t, reports, approval.Filed)
	e.Clock.Advance(time.Second)
	enginetest.Drain(t, e)
	wants(t, reports, approval.Escalated)

	var refused *fsm.Rejection
	if _, err := reports.Approve(t.Context(), report, max); !errors.As(err, &refused) {
		t.Fatalf("the manager approved too late: %v", err)
	}
	if _, err := reports.Approve(t.Context(), report, dora); err != nil {
		t.Fatal(err)
	}
	enginetest.Drain(t, e)
	wants(t, reports, approval.Paid)
	if len(b.paid) != 1 {
		t.Errorf("the bank paid %d times", len(b.paid))
	}
}

// TestAPaymentWithoutAnAnswerIsNotRepeated loses the answer of the bank: the engine asks the bank
// before it pays again.
func TestAPaymentWithoutAnAnswerIsNotRepeated(t *testing.T) {
	t.Parallel()
	fake := enginetest.NewFake(t, approval.Define[*sql.Tx](nil, approval.DefaultParams()))
	fake.On("pay_out", enginetest.Fail(engine.Unknown(errors.New("no answer"))))
	fake.OnQuery("pay_out", func(d fsm.Dispatch) (fsm.Payload, bool, error) {
		return approval.PaidOut{}, d.Attempt > 1, nil
	})
	e := enginetest.New(t, fake)
	reports := approval.In(e)
	_, created := reports.File(t.Context(), report, approval.File{ManagerID: "max", Amount: 100}, ann)
	_, approved := reports.Approve(t.Context(), report, max)
	if err := errors.Join(created, approved); err != nil {
		t.Fatal(err)
	}
	enginetest.Drain(t, e)
	wants(t, reports, approval.Approved)
	e.Clock.Advance(time.Minute)
	enginetest.Drain(t, e)
	wants(t, reports, approval.Paid)
	if paid := len(fake.Calls("pay_out")); paid != 1 {
		t.Errorf("the bank was told to pay %d times", paid)
	}
}
