package ton

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

// Cursor is a transaction of an account: everything up to it is known. The zero value stands before
// the first transaction.
type Cursor struct {
	LT   uint64 // the logical time, which grows along an account
	Hash Hash
}

// Hash is that of a transaction or a message.
type Hash [32]byte

// String returns 64 hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText returns 64 hexadecimal digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads 64 hexadecimal digits.
func (h *Hash) UnmarshalText(text []byte) error {
	decoded, err := hex.DecodeString(string(text))
	if err != nil || len(decoded) != len(h) {
		return fmt.Errorf("ton: %.80q is no hash: want 64 hexadecimal digits", text)
	}
	*h = Hash(decoded)
	return nil
}

// Deposit is money that a transaction credited to an address. Jettons are not deposits: Nano is always
// nano TON, and a transfer of a jetton is the TON that came along with its notice.
type Deposit struct {
	Address Address
	Cursor  // the transaction; with the address it is unique
	Nano    uint64
	From    Address // the sender, which may be an exchange: never pay back to it unasked
	Comment string  // empty if it is no text
	Fees    uint64  // what the transaction itself cost, taken from the balance
	Time    time.Time
}

// Key identifies the deposit. It is the same in every process and after every restart.
func (d Deposit) Key() string { return d.Address.String() + ":" + d.Hash.String() }

// cursorOf returns the place of a transaction.
func cursorOf(tx *tlb.Transaction) Cursor { return Cursor{tx.LT, [32]byte(tx.Hash)} }

// deposited reads the deposit of a transaction. It reports false for all that credits nothing: external messages,
// money that came back or went back, and messages without money. A first payment to an account
// without code is aborted and credited all the same.
func deposited(to Address, tx *tlb.Transaction) (Deposit, bool, error) {
	if tx.IO.In == nil || tx.IO.In.MsgType != tlb.MsgTypeInternal {
		return Deposit{}, false, nil
	}
	in := tx.IO.In.AsInternal()
	ordinary, ok := tx.Description.(tlb.TransactionDescriptionOrdinary)
	nano := in.Amount.Nano()
	switch {
	case in.Bounced, !ok, returned(ordinary), nano.Sign() == 0:
		return Deposit{}, false, nil
	case !nano.IsUint64():
		return Deposit{}, false, fmt.Errorf("ton: transaction %x credits %s nano, more than there are", tx.Hash, nano)
	}
	return Deposit{
		Address: to, Cursor: cursorOf(tx), Nano: nano.Uint64(), From: addressOf(in.SrcAddr), Comment: comment(in.Body),
		Fees: tx.TotalFees.Coins.Nano().Uint64(), Time: time.Unix(int64(tx.Now), 0),
	}, true, nil
}

// returned reports whether a transaction sent the money of its message back.
func returned(d tlb.TransactionDescriptionOrdinary) bool {
	if d.BouncePhase == nil {
		return false
	}
	_, ok := d.BouncePhase.Phase.(tlb.BouncePhaseOk)
	return ok
}

// The limits of a comment. What is above them is no comment.
const (
	maxComment      = 1024
	maxCommentCells = 16
	commentTag      = 0 // the operation of a body that is a text
)

// comment returns the text of a message's body, or nothing if the body is no text that a database and
// a page can show: it must be UTF-8 of printable characters.
func comment(body *cell.Cell) string {
	if body == nil {
		return ""
	}
	s, err := body.BeginParse()
	if err != nil {
		return ""
	}
	if tag, err := s.LoadUInt(32); err != nil || tag != commentTag {
		return ""
	}
	var text bytes.Buffer
	for range maxCommentCells {
		bits := s.BitsLeft()
		part, err := s.LoadSlice(bits)
		if err != nil || bits%8 != 0 || text.Len()+len(part) > maxComment {
			return ""
		}
		text.Write(part)
		if s.RefsNum() == 0 {
			return printable(text.Bytes())
		}
		if s, err = s.LoadRef(); err != nil {
			return ""
		}
	}
	return ""
}

func printable(text []byte) string {
	if !utf8.Valid(text) || bytes.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) }) {
		return ""
	}
	return string(text)
}
