package tontest

import (
	"fmt"
	"slices"

	"github.com/xssnick/tonutils-go/address"
	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

// next is a block that is being made.
type next struct {
	content
	tvm  *tvm
	sent []*cell.Cell // messages for the block after it
}

func (c *Chain) begin() (*next, error) {
	last := c.last()
	accounts := &tlb.ShardAccountsAugDict{AugmentedDictionary: last.accounts.Copy()}
	lt := last.lt - last.lt%ltStep + ltStep
	return &next{content: content{time: c.now, lt: lt, accounts: accounts, signer: c.signer}, tvm: c.tvm}, nil
}

// run runs a message on its account.
func (n *next) run(message *cell.Cell) error {
	account, err := destination(message)
	if err != nil {
		return err
	}
	after, err := n.tvm.run(shardAccount(n.accounts, account), message, n.time, n.lt+1)
	if err != nil {
		return err
	}
	var tx tlb.Transaction
	if err := tlb.Parse(&tx, after.transaction); err != nil {
		return fmt.Errorf("tontest: read a transaction of the TVM: %w", err)
	}
	n.changes = append(n.changes, change{account, tx.LT, tx.PrevTxLT, after.transaction})
	n.lt = max(n.lt, tx.LT+uint64(tx.OutMsgCount))
	if err := n.send(&tx); err != nil {
		return err
	}
	return n.store(account, after.account)
}

// store sets what an account is after a transaction.
func (n *next) store(account []byte, shardAccount *cell.Cell) error {
	exists, err := isAccount(shardAccount)
	if err != nil {
		return err
	}
	if !exists {
		if n.accounts.Get(accountKey(account)) == nil {
			return nil
		}
		return n.accounts.Delete(accountKey(account))
	}
	return n.accounts.Set(accountKey(account), shardAccount)
}

// send takes the internal messages of a transaction.
func (n *next) send(tx *tlb.Transaction) error {
	if tx.IO.Out == nil {
		return nil
	}
	list, err := tx.IO.Out.List.LoadAll()
	if err != nil {
		return err
	}
	for _, entry := range list {
		message, err := entry.Value.LoadRefCell()
		if err != nil {
			return err
		}
		var parsed tlb.Message
		if err := tlb.Parse(&parsed, message); err != nil {
			return err
		}
		if parsed.MsgType == tlb.MsgTypeInternal {
			n.sent = append(n.sent, message)
		}
	}
	return nil
}

// destination returns the account that a message is for.
func destination(message *cell.Cell) ([]byte, error) {
	var parsed tlb.Message
	if err := tlb.Parse(&parsed, message); err != nil {
		return nil, fmt.Errorf("tontest: this is no message: %w", err)
	}
	to := parsed.Msg.DestAddr()
	if to == nil || to.Workchain() != 0 {
		return nil, fmt.Errorf("tontest: a message to %v, which is not in the workchain 0", to)
	}
	return to.Data(), nil
}

// shardAccount returns what the TVM takes as an account: its state and its last transaction.
func shardAccount(accounts *tlb.ShardAccountsAugDict, account []byte) *cell.Cell {
	if found := accounts.Get(accountKey(account)); found != nil {
		return found
	}
	none := cell.BeginCell().MustStoreBoolBit(false).EndCell()
	return cell.BeginCell().MustStoreRef(none).MustStoreSlice(zeros(), 256).MustStoreUInt(0, 64).EndCell()
}

func isAccount(shardAccount *cell.Cell) (bool, error) {
	account, err := shardAccount.PeekRef(0)
	if err != nil {
		return false, err
	}
	s, err := account.BeginParse()
	if err != nil {
		return false, err
	}
	return s.LoadBoolBit()
}

// state returns the state of an account.
func state(accounts *tlb.ShardAccountsAugDict, account []byte) (*tlb.AccountState, error) {
	c, err := accountCell(accounts, account)
	if err != nil {
		return nil, err
	}
	var st tlb.AccountState
	return &st, tlb.Parse(&st, c)
}

// accountCell returns the cell of an account. Its error is cell.ErrNoSuchKeyInDict if there is none.
func accountCell(accounts *tlb.ShardAccountsAugDict, account []byte) (*cell.Cell, error) {
	value := accounts.Get(accountKey(account))
	if value == nil {
		return nil, cell.ErrNoSuchKeyInDict
	}
	return value.PeekRef(0)
}

func addressOf(account []byte) *address.Address {
	return address.NewAddress(0, 0, slices.Clone(account))
}
