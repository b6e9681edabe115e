package oracle

import (
	"testing"

	"github.com/xssnick/tonutils-go/address"
	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/tvm/cell"

	"github.com/fsmgen/fsmgen/adapters/ton"
)

// transaction is what one has done to its account.
type transaction struct {
	hash ton.Hash
	fees uint64
	// What follows is that of the internal message that it is about, if it is about one.
	from     ton.Address
	inLT     uint64
	nano     uint64
	credited bool // its money stayed, and is no money of the account's own that came back
	sent     []message
}

// message is one that an account has sent.
type message struct {
	to      ton.Address
	lt      uint64
	nano    uint64
	comment string
}

// history returns the transactions of all wallets.
func (w World[T]) history(t testing.TB) map[ton.Address][]transaction {
	t.Helper()
	all := map[ton.Address][]transaction{w.Escrow: read(t, w.Chain.Transactions(library(w.Escrow)))}
	for wallet := range w.Deposits {
		all[wallet] = read(t, w.Chain.Transactions(library(wallet)))
	}
	return all
}

func read(t testing.TB, list []*tlb.Transaction) []transaction {
	t.Helper()
	all := make([]transaction, len(list))
	for i, tx := range list {
		got := &all[i]
		got.hash, got.fees = ton.Hash(tx.Hash), tx.TotalFees.Coins.Nano().Uint64()
		if tx.IO.In != nil && tx.IO.In.MsgType == tlb.MsgTypeInternal {
			in := tx.IO.In.AsInternal()
			got.from, got.inLT, got.nano = addressOf(in.SrcAddr), in.CreatedLT, in.Amount.Nano().Uint64()
			got.credited = !in.Bounced && !bounces(tx)
		}
		if tx.OutMsgCount == 0 {
			continue
		}
		out, err := tx.IO.Out.ToSlice()
		if err != nil {
			t.Fatalf("oracle: messages of transaction %s: %v", got.hash, err)
		}
		for _, m := range out {
			if sent := m.AsInternal(); !sent.Bounced {
				got.sent = append(got.sent, message{addressOf(sent.DstAddr), sent.CreatedLT, sent.Amount.Nano().Uint64(), comment(sent.Body)})
			}
		}
	}
	return all
}

// bounces reports whether a transaction has sent its money back.
func bounces(tx *tlb.Transaction) bool {
	d, ok := tx.Description.(tlb.TransactionDescriptionOrdinary)
	if !ok || d.BouncePhase == nil {
		return false
	}
	_, ok = d.BouncePhase.Phase.(tlb.BouncePhaseOk)
	return ok
}

func comment(body *cell.Cell) string {
	s, err := body.BeginParse()
	if err != nil {
		return ""
	}
	if tag, err := s.LoadUInt(32); err != nil || tag != 0 {
		return ""
	}
	text, err := s.LoadStringSnake()
	if err != nil {
		return ""
	}
	return text
}

func addressOf(a *address.Address) ton.Address {
	return ton.Address{Workchain: int8(a.Workchain()), Hash: [32]byte(a.Data())}
}
