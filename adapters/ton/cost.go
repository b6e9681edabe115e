package ton

import (
	"fmt"
	"math/big"
	"time"

	"github.com/xssnick/tonutils-go/tlb"
)

// Cost is what a transaction that is no deposit took from the balance of an address, though the address
// did not ask for it: a message from elsewhere that bounces, or has no money, lets it pay for the storage
// of its state. What the wallet's own transfers cost, their Outcome says.
type Cost struct {
	Address Address
	Cursor  // the transaction; with the address it is unique
	Nano    uint64
	Time    time.Time
}

// Key identifies the cost. It is the same in every process and after every restart.
func (c Cost) Key() string { return c.Address.String() + ":" + c.Hash.String() }

// costOf reads the cost of a transaction that is no deposit. It reports false if there is none: of
// a message from outside, and of money that came back.
func costOf(of Address, tx *tlb.Transaction) (Cost, bool, error) {
	if tx.IO.In == nil || tx.IO.In.MsgType != tlb.MsgTypeInternal || tx.IO.In.AsInternal().Bounced {
		return Cost{}, false, nil
	}
	taken := new(big.Int).Sub(tx.TotalFees.Coins.Nano(), tx.IO.In.AsInternal().Amount.Nano())
	if tx.OutMsgCount > 0 {
		list, err := tx.IO.Out.ToSlice()
		if err != nil {
			return Cost{}, false, fmt.Errorf("ton: messages of the transaction %x: %w: %w", tx.Hash, ErrProof, err)
		}
		for _, m := range list {
			if m.MsgType != tlb.MsgTypeInternal {
				continue
			}
			out := m.AsInternal()
			taken.Add(taken, out.Amount.Nano()).Add(taken, out.FwdFee.Nano())
		}
	}
	if taken.Sign() <= 0 || !taken.IsUint64() {
		return Cost{}, false, nil
	}
	return Cost{Address: of, Cursor: cursorOf(tx), Nano: taken.Uint64(), Time: time.Unix(int64(tx.Now), 0)}, true, nil
}
