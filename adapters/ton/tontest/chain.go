package tontest

import (
	"crypto/ed25519"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/xssnick/tonutils-go/address"
	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/ton"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

// BlockTime is how long after the block before it a block is made.
const BlockTime = 5 * time.Second

// ltStep is between the logical times of two blocks, as in the chain.
const ltStep = 1_000_000

// Chain is a chain with one shard. Its methods are safe for concurrent use; those that can fail end
// the test, and so must be called by the test's goroutine.
type Chain struct {
	t   testing.TB
	tvm *tvm

	mu       sync.Mutex
	signer   signer
	blocks   []*block // by seqno, from 1
	history  map[string][]record
	external []*cell.Cell  // accepted by a liteserver, not yet in a block
	internal []*cell.Cell  // on their way to an account
	grown    chan struct{} // closed by the next block
	now      uint32
	faucet   faucet
}

// record is a transaction of an account.
type record struct {
	change
	hash []byte
	in   *ton.BlockIDExt
}

// New returns a chain with a genesis block, in which the faucet has all the money. It skips the test
// if the TVM is missing.
func New(t testing.TB) *Chain {
	t.Helper()
	c := &Chain{
		t: t, tvm: startTVM(t), signer: signer{ed25519.NewKeyFromSeed(zeros())},
		history: map[string][]record{}, grown: make(chan struct{}), now: 1_790_000_000,
	}
	accounts, err := c.faucet.genesis()
	if err != nil {
		t.Fatal(err)
	}
	genesis, err := seal(nil, content{time: c.now, lt: ltStep, accounts: accounts, signer: c.signer})
	if err != nil {
		t.Fatal(err)
	}
	c.blocks = []*block{genesis}
	return c
}

// Now returns the time of the chain, that of the next block.
func (c *Chain) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Unix(int64(c.now), 0)
}

// Sleep moves the chain's clock forward, without a block.
func (c *Chain) Sleep(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += uint32(d / time.Second)
}

// Advance makes n blocks. Each has the external messages that were accepted and the internal messages
// that the block before it sent.
func (c *Chain) Advance(n int) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for range n {
		if err := c.advance(); err != nil {
			c.t.Fatal(err)
		}
	}
}

// Settle makes blocks until no message is on its way, at least one.
func (c *Chain) Settle() {
	c.t.Helper()
	c.Advance(1)
	for c.InFlight() > 0 {
		c.Advance(1)
	}
}

// InFlight returns how many messages the next block will have.
func (c *Chain) InFlight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.external) + len(c.internal)
}

// Seqno returns the number of the last block.
func (c *Chain) Seqno() uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last().id.SeqNo
}

// Balance returns what an account has, in nano. It reads the chain itself and asks no liteserver.
func (c *Chain) Balance(of *address.Address) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	account, err := state(c.last().accounts, of.Data())
	if err != nil {
		return 0
	}
	return account.Balance.Nano().Uint64()
}

// Transactions returns the transactions of an account, oldest first.
func (c *Chain) Transactions(of *address.Address) []*tlb.Transaction {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []*tlb.Transaction
	for _, r := range c.history[string(of.Data())] {
		var tx tlb.Transaction
		if err := tlb.Parse(&tx, r.transaction); err != nil {
			c.t.Fatal(err)
		}
		tx.Hash = r.hash
		list = append(list, &tx)
	}
	return list
}

func (c *Chain) last() *block { return c.blocks[len(c.blocks)-1] }

// Inject puts an external message in the next block without asking whether its account accepts it.
func (c *Chain) Inject(message *cell.Cell) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.external = append(c.external, message)
}

// accept checks, as a liteserver does, that an account accepts an external message, and keeps it for
// the next block. Its error is a *refusal if the account does not.
func (c *Chain) accept(message *cell.Cell) error {
	account, err := destination(message)
	if err != nil {
		return err
	}
	last := c.last()
	if _, err := c.tvm.run(shardAccount(last.accounts, account), message, c.now, last.lt+ltStep); err != nil {
		return err
	}
	c.external = append(c.external, message)
	return nil
}

// advance makes a block.
func (c *Chain) advance() error {
	next, err := c.begin()
	if err != nil {
		return err
	}
	internal, external := c.internal, c.external
	c.internal, c.external = nil, nil
	for _, message := range internal {
		if err := next.run(message); err != nil {
			return err
		}
	}
	for _, message := range external {
		var refused *refusal
		if err := next.run(message); err != nil && !errors.As(err, &refused) { // another block's message may have taken its place
			return err
		}
	}
	made, err := seal(c.last(), next.content)
	if err != nil {
		return err
	}
	c.keep(made, next)
	return nil
}

// keep makes a block the last one.
func (c *Chain) keep(made *block, n *next) {
	for _, change := range n.changes {
		key := string(change.account)
		c.history[key] = append(c.history[key], record{change, change.transaction.Hash(), made.shardID})
	}
	c.blocks = append(c.blocks, made)
	c.internal = n.sent
	c.now += uint32(BlockTime / time.Second)
	close(c.grown)
	c.grown = make(chan struct{})
}
