package ton

import (
	"context"
	"time"

	"github.com/xssnick/tonutils-go/tlb"
)

// State is what is known of a signed transfer.
type State int

const (
	// Unknown is a transfer that is not in the chain and can still be executed: send it again.
	Unknown State = iota
	// Found is a transfer that the wallet has executed. That is no success: see Outcome.Delivery.
	Found
	// Expired is a transfer that is not in the chain and can't be executed any more: its time is over.
	// The seqno is free: another transfer may be signed in its place.
	Expired
	// Displaced is a transfer that can't be executed because the wallet has executed another message
	// of its seqno.
	Displaced
)

// Delivery is what has become of the money of a transfer that was found.
type Delivery int

const (
	// NotSent is a transfer whose message was skipped, for example because the balance was too small
	// for it and its fees. The seqno is used up all the same, and the money is in the wallet.
	NotSent Delivery = iota
	// OnItsWay is a message that has not arrived.
	OnItsWay
	// Delivered is a message that the recipient was credited with.
	Delivered
	// Bouncing is a message that the recipient sent back, and that has not arrived.
	Bouncing
	// Bounced is a message whose money is back in the wallet, less the fees: Outcome.Returned.
	Bounced
)

// Outcome is what the chain says of a signed transfer.
type Outcome struct {
	State State
	View  View // as of which
	// What follows is that of a transfer that was found.
	Transaction    Cursor // the wallet's
	Time           time.Time
	OutMsgCount    int    // messages that the wallet has sent: one, or none
	SkippedActions int    // messages that it could not pay
	Fees           uint64 // what the wallet paid: for its transaction, for sending the message, and for taking it back
	Delivery       Delivery
	RecipientFees  uint64 // what the recipient's transaction took from the money or from the recipient
	Returned       uint64 // what came back, in nano
}

// Outcome asks the chain what has become of a signed transfer. It looks at all transactions of the
// wallet since the signing, as of one proved block. So Expired and Displaced are final; Unknown is
// said whenever the transfer may still be executed.
func (w *Wallet) Outcome(ctx context.Context, s Signed) (Outcome, error) {
	return w.config.Client.outcome(ctx, s, func(account *tlb.Account, at View) (State, error) {
		state, err := stateOf(account)
		return absent(s, state.seqno, at.Time.Add(-w.config.Slack)), err
	})
}

// outcome finds a transfer in the history of its wallet and follows it. missing returns the state of one that is not
// there.
func (c *Client) outcome(ctx context.Context, s Signed, missing func(*tlb.Account, View) (State, error)) (Outcome, error) {
	view, err := c.View(ctx)
	if err != nil {
		return Outcome{}, err
	}
	account, err := c.account(ctx, view, s.From)
	if err != nil {
		return Outcome{}, err
	}
	history, err := c.after(ctx, s.From, account, s.Since)
	if err != nil {
		return Outcome{}, err
	}
	found := executed(history, s.BodyHash)
	if found == nil {
		state, err := missing(account, view)
		if err != nil {
			return Outcome{}, err
		}
		return Outcome{View: view, State: state}, nil
	}
	o := outcomeOf(found)
	o.View = view
	if o.OutMsgCount == 0 {
		return o, nil
	}
	m, err := sentTo(found, s.To)
	if err != nil {
		return Outcome{}, classify("messages of the transfer", err)
	}
	o.Fees += m.fees
	arrived, err := c.arrival(ctx, view, s, m)
	if err != nil {
		return Outcome{}, err
	}
	o.follow(arrived, history, s, m)
	return o, nil
}

// arrival returns the recipient's transaction of a message, or nil if there is none. An account that
// does not exist has no transactions to look at.
func (c *Client) arrival(ctx context.Context, at View, s Signed, m *sent) (*tlb.Transaction, error) {
	recipient, err := c.account(ctx, at, s.To)
	if err != nil || !recipient.IsActive || recipient.LastTxLT <= m.createdLT {
		return nil, err
	}
	last := Cursor{recipient.LastTxLT, [32]byte(recipient.LastTxHash)}
	list, _, err := c.back(ctx, s.To, last, m.createdLT)
	if err != nil {
		return nil, err
	}
	return received(list, s.From, m.createdLT), nil
}
