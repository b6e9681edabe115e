package ton

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

// executed returns the transaction that an external message with the body caused, or nil.
func executed(history []*tlb.Transaction, body [32]byte) *tlb.Transaction {
	for _, tx := range history {
		if tx.IO.In == nil || tx.IO.In.MsgType != tlb.MsgTypeExternalIn {
			continue
		}
		if payload := tx.IO.In.Msg.Payload(); payload != nil && payload.HashKey() == body {
			return tx
		}
	}
	return nil
}

// absent returns the state of a transfer that is not in the wallet's history. now is the chain's time less the slack.
func absent(s Signed, seqno uint32, now time.Time) State {
	switch {
	case seqno > s.Seqno:
		return Displaced
	case now.After(s.ValidUntil):
		return Expired
	}
	return Unknown
}

// outcomeOf reads the wallet's transaction of a transfer.
func outcomeOf(tx *tlb.Transaction) Outcome {
	o := Outcome{
		State: Found, Transaction: cursorOf(tx), Time: time.Unix(int64(tx.Now), 0),
		OutMsgCount: int(tx.OutMsgCount), Fees: tx.TotalFees.Coins.Nano().Uint64(),
	}
	if d, ok := tx.Description.(tlb.TransactionDescriptionOrdinary); ok && d.ActionPhase != nil {
		o.SkippedActions = int(d.ActionPhase.SkippedActions)
	}
	return o
}

// sent is a message that a wallet has sent.
type sent struct {
	createdLT uint64
	body      *cell.Cell
	fees      uint64 // of forwarding, which are not in the transaction's
}

// sentTo returns the message of a transaction to a recipient.
func sentTo(tx *tlb.Transaction, to Address) (*sent, error) {
	list, err := tx.IO.Out.ToSlice()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProof, err)
	}
	for _, m := range list {
		if m.MsgType != tlb.MsgTypeInternal {
			continue
		}
		if out := m.AsInternal(); addressOf(out.DstAddr) == to {
			return &sent{out.CreatedLT, out.Body, out.FwdFee.Nano().Uint64()}, nil
		}
	}
	return nil, fmt.Errorf("%w: %w", ErrProof, errors.New("the wallet sent to another recipient"))
}

// received returns the transaction of a message: a sender has one message of a logical time.
func received(history []*tlb.Transaction, from Address, createdLT uint64) *tlb.Transaction {
	for _, tx := range history {
		if tx.IO.In == nil || tx.IO.In.MsgType != tlb.MsgTypeInternal {
			continue
		}
		if in := tx.IO.In.AsInternal(); in.CreatedLT == createdLT && addressOf(in.SrcAddr) == from {
			return tx
		}
	}
	return nil
}

// follow reads the delivery off the recipient's transaction, nil for none, and what came back to the wallet.
func (o *Outcome) follow(arrived *tlb.Transaction, wallet []*tlb.Transaction, s Signed, m *sent) {
	o.Delivery = OnItsWay
	if arrived != nil {
		o.Delivery, o.RecipientFees = Bouncing, arrived.TotalFees.Coins.Nano().Uint64()
		ordinary, ok := arrived.Description.(tlb.TransactionDescriptionOrdinary)
		if !ok || !returned(ordinary) {
			o.Delivery = Delivered
			return
		}
	}
	for _, tx := range wallet {
		if tx.IO.In == nil || tx.IO.In.MsgType != tlb.MsgTypeInternal {
			continue
		}
		in := tx.IO.In.AsInternal()
		if in.Bounced && in.CreatedLT > m.createdLT && addressOf(in.SrcAddr) == s.To && quotes(in.Body, m.body) {
			o.Delivery, o.Returned = Bounced, in.Amount.Nano().Uint64()
			o.Fees += tx.TotalFees.Coins.Nano().Uint64()
			return
		}
	}
}

// quotes reports whether the body of a bounced message quotes another: 32 ones, and up to 256 bits.
func quotes(bounced, body *cell.Cell) bool {
	const tag, tagBits, most = 0xffffffff, 32, 256
	if bounced == nil {
		return false
	}
	got, err := bounced.BeginParse()
	if err != nil {
		return false
	}
	if ones, err := got.LoadUInt(tagBits); err != nil || ones != tag {
		return false
	}
	if body == nil {
		body = cell.BeginCell().EndCell()
	}
	want, err := body.BeginParse()
	if err != nil {
		return false
	}
	bits := min(want.BitsLeft(), most)
	wanted, err := want.LoadSlice(bits)
	if err != nil {
		return false
	}
	quoted, err := got.LoadSlice(bits)
	return err == nil && bytes.Equal(quoted, wanted)
}
