package tontest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/xssnick/tonutils-go/liteclient"
	"github.com/xssnick/tonutils-go/tl"
	"github.com/xssnick/tonutils-go/ton"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

// The codes of a liteserver's errors.
const (
	codeNotReady = 651
	codeTimeout  = 652
	codeNoTx     = -400
	codeRefused  = 0
	codeProtocol = -1
)

func notApplied(id *ton.BlockIDExt) ton.LSError {
	return ton.LSError{Code: codeNotReady, Text: fmt.Sprintf("block %d is not applied", id.SeqNo)}
}

// answer returns what a query gets, or nil for nothing.
func (s *Server) answer(client *liteclient.ServerClient, query tl.Serializable) tl.Serializable {
	faults := s.note(query)
	switch {
	case faults.Silent:
		return nil
	case s.isDoomed(client, query, faults):
		client.Close()
		return nil
	}
	if list, ok := query.([]tl.Serializable); ok {
		wait, ok := list[0].(ton.WaitMasterchainSeqno)
		if !ok || len(list) != 2 {
			return ton.LSError{Code: codeProtocol, Text: "unknown prefix"}
		}
		if !s.chain.await(uint32(wait.Seqno)+faults.Behind, time.Duration(wait.Timeout)*time.Millisecond) {
			return ton.LSError{Code: codeTimeout, Text: "timeout"}
		}
		query = list[1]
	}
	s.chain.mu.Lock()
	defer s.chain.mu.Unlock()
	v := view{s.chain, faults}
	if q, ok := query.(ton.SendMessage); ok {
		return v.send(client, q)
	}
	return v.read(query)
}

// isDoomed reports whether a client has got its last answer: that of a message sent with CutAfter.
func (s *Server) isDoomed(client *liteclient.ServerClient, query tl.Serializable, faults Faults) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doomed[client] {
		return true
	}
	if _, ok := query.(ton.SendMessage); ok && faults.Send == CutAfter {
		s.doomed[client] = true
	}
	return false
}

// note counts a query, and returns the faults that are on.
func (s *Server) note(query tl.Serializable) Faults {
	s.mu.Lock()
	defer s.mu.Unlock()
	if list, ok := query.([]tl.Serializable); ok && len(list) > 0 {
		query = list[len(list)-1]
	}
	name := strings.TrimPrefix(fmt.Sprintf("%T", query), "ton.")
	s.calls[name]++
	return s.faults
}

// await reports whether there is a block of a seqno before the timeout.
func (c *Chain) await(seqno uint32, timeout time.Duration) bool {
	late := time.After(timeout)
	for {
		c.mu.Lock()
		there, grown := c.last().id.SeqNo >= seqno, c.grown
		c.mu.Unlock()
		if there {
			return true
		}
		select {
		case <-grown:
		case <-late:
			return false
		}
	}
}

// view is the chain as a liteserver with faults shows it.
type view struct {
	*Chain
	faults Faults
}

func (v view) last() *block {
	return v.blocks[max(0, len(v.blocks)-1-int(v.faults.Behind))]
}

// find returns the block of an id of the masterchain, or nil.
func (v view) find(id *ton.BlockIDExt) *block {
	if id.SeqNo == 0 || id.SeqNo > v.last().id.SeqNo {
		return nil
	}
	if b := v.blocks[id.SeqNo-1]; b.id.Equals(id) {
		return b
	}
	return nil
}

func (v view) read(query tl.Serializable) tl.Serializable {
	switch q := query.(type) {
	case ton.GetMasterchainInf:
		b := v.last()
		return ton.MasterchainInfo{Last: b.id, StateRootHash: b.state.Hash(), Init: &ton.ZeroStateIDExt{Workchain: masterchain, RootHash: zeros(), FileHash: zeros()}}
	case ton.GetAccountState:
		return v.account(q)
	case ton.GetTransactions:
		return v.transactions(q)
	case ton.GetBlockProof:
		return v.proof(q)
	case ton.GetAllShardsInfo:
		return v.shards(q)
	case ton.GetBlockData:
		return v.block(q.ID)
	case ton.GetBlockHeader:
		b := v.find(q.ID)
		if b == nil {
			return notApplied(q.ID)
		}
		return ton.BlockHeader{ID: b.id, Mode: q.Mode, HeaderProof: whole(b.cell).ToBOC()}
	}
	return ton.LSError{Code: codeProtocol, Text: fmt.Sprintf("this liteserver does not know %T", query)}
}

func (v view) block(id *ton.BlockIDExt) tl.Serializable {
	if id.SeqNo == 0 || id.SeqNo > v.last().id.SeqNo {
		return notApplied(id)
	}
	b := v.blocks[id.SeqNo-1]
	if v.faults.ForgedBlock {
		b = v.blocks[0]
	}
	if id.Workchain == masterchain {
		return ton.BlockData{ID: id, Payload: b.cell.ToBOC()}
	}
	return ton.BlockData{ID: id, Payload: b.shard.ToBOC()}
}

// transactions answers with a page of the transactions of an account, newest first.
func (v view) transactions(q ton.GetTransactions) tl.Serializable {
	const page = 16
	list := v.history[string(q.AccID.ID)]
	at := len(list) - 1
	for at >= 0 && (list[at].lt != uint64(q.LT) || !bytes.Equal(list[at].hash, q.TxHash)) {
		at--
	}
	if at < 0 {
		return ton.LSError{Code: codeNoTx, Text: "cannot compute block with specified transaction: lt not in db"}
	}
	var cells []*cell.Cell
	var blocks []*ton.BlockIDExt
	for at >= 0 && len(cells) < min(int(q.Limit), page) {
		cells, blocks = append(cells, list[at].transaction), append(blocks, list[at].in)
		previous := list[at].previous // a transaction that left no account behind is passed over
		for at--; at >= 0 && list[at].lt != previous; at-- {
		}
	}
	return ton.TransactionList{IDs: blocks, Transactions: cell.ToBOCWithOptions(cells, cell.BOCSerializeOptions{})}
}

// send takes a message, or does not: see SendFault.
func (v view) send(client *liteclient.ServerClient, q ton.SendMessage) tl.Serializable {
	taken := ton.SendMessageStatus{Status: 1}
	switch v.faults.Send {
	case CutBefore:
		client.Close()
		return nil
	case Forget:
		return taken
	case SendWorks, CutDuring, CutAfter:
	}
	message, err := cell.FromBOC(q.Body)
	if err != nil {
		return ton.LSError{Code: codeRefused, Text: err.Error()}
	}
	if err := v.accept(message); err != nil {
		var refused *refusal
		if !errors.As(err, &refused) {
			return ton.LSError{Code: codeProtocol, Text: err.Error()}
		}
		return ton.LSError{Code: codeRefused, Text: fmt.Sprintf("cannot apply external message to current state : External message was not accepted\n"+
			"Cannot run message on account: inbound external message rejected by transaction:\nexitcode=%d, %s", refused.exit, refused.reason)}
	}
	if v.faults.Send == CutDuring {
		client.Close()
		return nil
	}
	return taken
}
