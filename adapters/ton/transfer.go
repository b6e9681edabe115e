package ton

import (
	"errors"
	"fmt"
	"time"

	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

// Transfer is a payment of TON. It is no transfer of jettons.
type Transfer struct {
	To   Address
	Nano uint64
	// Bounce lets the money come back if the recipient can't take it. Without it, money to an account
	// that is missing or frozen waits there.
	Bounce bool
	// Comment is what the recipient sees, 120 bytes at most. Its first 28 bytes tell transfers to one
	// recipient apart when they bounce, so let them differ.
	Comment string
}

const maxTransferComment = 120

func (t Transfer) validate() error {
	const supply = 5_200_000_000_000_000_000
	switch {
	case t.Nano == 0:
		return fmt.Errorf("ton: transfer to %s: the amount is zero", t.To)
	case t.Nano > supply:
		return fmt.Errorf("ton: transfer to %s: %d nano are more than there are", t.To, t.Nano)
	case t.To == Address{}:
		return fmt.Errorf("ton: transfer: %w: none is given", ErrAddress)
	case len(t.Comment) > maxTransferComment:
		return fmt.Errorf("ton: transfer to %s: the comment has %d bytes, and the limit is %d", t.To, len(t.Comment), maxTransferComment)
	}
	return nil
}

// body is what a transfer carries: its comment, or nothing.
func (t Transfer) body() (*cell.Cell, error) {
	b := cell.BeginCell()
	if t.Comment == "" {
		return b.EndCell(), nil
	}
	if err := b.StoreUInt(commentTag, 32); err != nil {
		return nil, err
	}
	if err := b.StoreStringSnake(t.Comment); err != nil {
		return nil, err
	}
	return b.EndCell(), nil
}

// message is the internal message that the wallet sends.
func (t Transfer) message() (*cell.Cell, error) {
	body, err := t.body()
	if err != nil {
		return nil, err
	}
	return tlb.ToCell(&tlb.InternalMessage{
		IHRDisabled: true, Bounce: t.Bounce, DstAddr: t.To.library(), Amount: tlb.FromNanoTONU(t.Nano), Body: body,
	})
}

// Signed is a transfer that is signed and can be executed once at most, however often it is sent. It
// is to be stored before it is sent for the first time: it has no secret.
type Signed struct {
	Transfer
	From       Address
	BOC        []byte    // the external message; each send sends these bytes
	BodyHash   Hash      // by which it is found in the chain
	Seqno      uint32    // the wallet executes one message of a seqno; the query id of a Highload wallet
	ValidUntil time.Time // by the chain's clock
	Since      Cursor    // the wallet's last transaction at signing
}

// envelop fills in the external message that has a signed body, with the wallet's code if it is not
// deployed.
func (s *Signed) envelop(body *cell.Cell, init *tlb.StateInit) error {
	message, err := tlb.ToCell(&tlb.ExternalMessage{DstAddr: s.From.library(), Body: body, StateInit: init})
	if err != nil {
		return fmt.Errorf("ton: transfer to %s: %w", s.To, err)
	}
	s.BOC, s.BodyHash = message.ToBOCWithOptions(cell.BOCSerializeOptions{}), Hash(body.HashKey())
	return nil
}

// Restore reads a signed transfer off the bytes that were stored: its From, BOC and BodyHash, which is
// what Send needs. Outcome needs To, Nano, Seqno, ValidUntil and Since besides, as they were stored.
func Restore(boc []byte) (Signed, error) {
	root, err := cell.FromBOC(boc)
	if err != nil {
		return Signed{}, fmt.Errorf("ton: read a signed transfer: %w", err)
	}
	var message tlb.ExternalMessage
	if err := tlb.Parse(&message, root); err != nil {
		return Signed{}, fmt.Errorf("ton: read a signed transfer: %w", err)
	}
	from := addressOf(message.DstAddr)
	if from == (Address{}) || message.Body == nil {
		return Signed{}, errors.New("ton: read a signed transfer: the message has no wallet or no body")
	}
	return Signed{From: from, BOC: boc, BodyHash: Hash(message.Body.HashKey())}, nil
}

// sendMode pays fees from the wallet and skips what can't be paid. A wallet must never send with mode
// 128+32: that would delete it, and with it the seqno that makes each message unique.
const sendMode = 1 + 2

// order is what a wallet of version 4 gets signed: one transfer.
func order(subwallet uint32, validUntil time.Time, seqno uint32, t Transfer) (*cell.Builder, error) {
	message, err := t.message()
	if err != nil {
		return nil, err
	}
	const simple = 0
	return cell.BeginCell().MustStoreUInt(uint64(subwallet), 32).MustStoreUInt(uint64(validUntil.Unix()), 32).
		MustStoreUInt(uint64(seqno), 32).MustStoreUInt(simple, 8).
		MustStoreUInt(sendMode, 8).MustStoreRef(message), nil
}
