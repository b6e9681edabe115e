// Command approval approves expense reports and pays them: its README.md says what it shows.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"log/slog"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/examples/approval/generated/approval"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	store, err := sqlite.Temporary(ctx, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	b := &bank{paid: map[string]bool{}}
	e, err := engine.New(store, engine.Config{Logger: slog.New(slog.DiscardHandler)},
		approval.Define[*sql.Tx](b, approval.DefaultParams()))
	if err != nil {
		return err
	}
	if err := e.Migrate(ctx); err != nil {
		return err
	}
	reports := approval.In(e)
	id := fsm.UUID{6: 0x40, 8: 0x80, 15: 1}
	if err := decide(ctx, reports, id); err != nil {
		return err
	}
	if err := operate(ctx, e, b); err != nil {
		return err
	}
	return history(ctx, reports, id)
}

// decide files a report and has it approved, after three who may not.
func decide(ctx context.Context, reports *approval.Client[*sql.Tx], id fsm.UUID) error {
	ann, max, eve := approval.ByEmployee("ann"), approval.ByManager("max"), approval.ByManager("eve")
	if _, err := reports.File(ctx, id, approval.File{ManagerID: "max", Amount: 8900}, ann); err != nil {
		return err
	}
	for _, by := range []approval.Actor{ann, eve, approval.ByDirector("dora")} {
		_, err := reports.Approve(ctx, id, by)
		var refused *fsm.Rejection
		if !errors.As(err, &refused) {
			return fmt.Errorf("approval by %s was not refused: %w", by.Role, err)
		}
		fmt.Printf("%s %s approves: refused, %s\n", by.Role, by.ID.V, refused.Reason)
	}
	approved, err := reports.Approve(ctx, id, max)
	if err != nil {
		return err
	}
	fmt.Println("manager max approves:", approved.Record.State)
	return nil
}

// operate is the view of an operator: what can't be delivered, why, and once more.
func operate(ctx context.Context, e *engine.Engine[*sql.Tx], b *bank) error {
	if err := work(ctx, e); err != nil {
		return err
	}
	dead, err := e.DeadLetters(ctx, engine.Filter{Machine: approval.MachineName}, "", 0)
	if err != nil {
		return err
	}
	for _, m := range dead {
		fmt.Printf("dead letter: %s to %s after %d attempt: %s\n", m.Effect, m.Destination, m.Attempts, m.LastError)
		b.open = true // the operator has called the bank
		if err := e.Requeue(ctx, m.MessageID, "otto", "the bank has opened the account"); err != nil {
			return err
		}
		fmt.Println("otto requeues it")
	}
	return work(ctx, e)
}

// work does all that is due. A service keeps Run going instead.
func work(ctx context.Context, e *engine.Engine[*sql.Tx]) error {
	for {
		if n, err := e.Step(ctx); n == 0 || err != nil {
			return err
		}
	}
}

// history prints which steps a report took, and who took them.
func history(ctx context.Context, reports *approval.Client[*sql.Tx], id fsm.UUID) error {
	steps, err := reports.History(ctx, id, 0, 0)
	if err != nil {
		return err
	}
	for _, s := range steps {
		fmt.Printf("version %d: %s leads to %s, by the %s\n", s.Version, s.Event.Event(), s.To, s.By.Role)
	}
	return nil
}

// bank pays each key once, to accounts that are open.
type bank struct {
	open bool
	paid map[string]bool
}

// PayOut pays. An error that a repeat would meet again is permanent: the message becomes a dead
// letter at once.
func (b *bank) PayOut(_ context.Context, d fsm.Dispatch, e approval.PayOutEffect) (approval.PayOutAnswer, error) {
	if !b.open {
		return nil, &engine.PermanentError{Err: fmt.Errorf("the account of %s is closed", e.EmployeeID)}
	}
	b.paid[d.ID] = true
	return approval.PaidOut{}, nil
}

// QueryPayOut says whether the payment was made: the engine asks before it pays again.
func (b *bank) QueryPayOut(_ context.Context, d fsm.Dispatch, _ approval.PayOutEffect) (approval.PayOutAnswer, bool, error) {
	return approval.PaidOut{}, b.paid[d.ID], nil
}
