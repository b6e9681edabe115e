package transfers

import (
	"context"
	"errors"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
)

// Wallet makes transfers that can't be sent twice. A *ton.Wallet is one, and so is what [Shared]
// returns. It must be safe for concurrent use.
type Wallet interface {
	// Sign signs a transfer and sends nothing. What it signs twice may be executed twice.
	Sign(ctx context.Context, t ton.Transfer) (ton.Signed, error)
	// Send sends the BOC. After any error it may be executed all the same.
	Send(ctx context.Context, s ton.Signed) error
	// Outcome says what the chain has of a transfer, which another wallet may have signed.
	Outcome(ctx context.Context, s ton.Signed) (ton.Outcome, error)
}

// Deals hear what has become of their transfers.
type Deals interface {
	// Report may be called again with the same ID, and must be idempotent. After an error it is
	// called again.
	Report(ctx context.Context, r Report) error
}

// Report is the status that a transfer of a deal has reached.
type Report struct {
	ID       string // the same for every attempt
	Transfer fsm.UUID
	Deal     fsm.UUID
	Kind     transfer.Kind
	Status   transfer.State
}

// Operators hear of transfers that wait for them.
type Operators interface {
	// Alert may be called again with the same ID.
	Alert(ctx context.Context, a Alert) error
}

// Alert is a transfer that does not go on without an operator.
type Alert struct {
	ID       string // the same for every attempt
	Transfer fsm.UUID
	Deal     fsm.UUID
	Status   transfer.State
	Problem  string // empty if no address is recorded
}

// Config configures Handlers. All fields are required.
type Config[T any] struct {
	// Escrow pays payouts, refunds and returns.
	Escrow Wallet
	// Deposits returns the wallet that has the deposits of a deal, which a collection empties.
	Deposits func(ctx context.Context, deal fsm.UUID) (Wallet, error)
	// Database is that of the records.
	Database *Database[T]
	// Ledger is the ledger of that database.
	Ledger *ledger.Ledger[T]
	// Deals hear of every end, and Operators of what waits for them.
	Deals     Deals
	Operators Operators
}

func (c Config[T]) validate() error {
	if c.Escrow == nil || c.Deposits == nil || c.Database == nil || c.Ledger == nil || c.Deals == nil || c.Operators == nil {
		return errors.New("transfers: Config needs Escrow, Deposits, Database, Ledger, Deals and Operators")
	}
	return nil
}
