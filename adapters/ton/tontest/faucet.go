package tontest

import (
	"crypto/ed25519"
	"math/big"

	"github.com/xssnick/tonutils-go/address"
	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/ton/wallet"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

// Supply is what the faucet has in the genesis block, in nano.
const Supply = uint64(1_000_000_000_000_000_000)

// faucet is a wallet of version 4 that the genesis block has.
type faucet struct {
	key     ed25519.PrivateKey
	address *address.Address
	seqno   uint32
}

const faucetSubwallet = 1

// genesis returns the accounts of the genesis block.
func (f *faucet) genesis() (*tlb.ShardAccountsAugDict, error) {
	f.key = ed25519.NewKeyFromSeed([]byte("the faucet of a chain for tests!"))
	init, err := wallet.GetStateInit(f.key.Public().(ed25519.PublicKey), wallet.V4R2, faucetSubwallet)
	if err != nil {
		return nil, err
	}
	code, err := tlb.ToCell(init)
	if err != nil {
		return nil, err
	}
	f.address = address.NewAddress(0, 0, code.Hash())
	account, err := tlb.ToCell(tlb.AccountState{
		IsValid: true, Address: f.address,
		StorageInfo: tlb.StorageInfo{
			StorageUsed: tlb.StorageUsed{CellsUsed: new(big.Int), BitsUsed: new(big.Int)}, StorageExtra: tlb.StorageExtraNone{},
		},
		AccountStorage: tlb.AccountStorage{Status: tlb.AccountStatusActive, Balance: tlb.FromNanoTONU(Supply), StateInit: init},
	})
	if err != nil {
		return nil, err
	}
	accounts, err := tlb.NewShardAccountsAugDict()
	if err != nil {
		return nil, err
	}
	value := cell.BeginCell().MustStoreRef(account).MustStoreSlice(zeros(), 256).MustStoreUInt(0, 64).EndCell()
	return accounts, accounts.Set(accountKey(f.address.Data()), value)
}

// Payment is an output of the faucet.
type Payment struct {
	To     *address.Address
	Nano   uint64
	Bounce bool
	Body   *cell.Cell // nil for none
}

// Comment returns the body that carries a text.
func Comment(text string) *cell.Cell {
	return cell.BeginCell().MustStoreUInt(0, 32).MustStoreStringSnake(text).EndCell()
}

// Faucet returns the faucet's address.
func (c *Chain) Faucet() *address.Address { return c.faucet.address.Bounce(false) }

// Give lets the faucet pay an address, without bouncing. The faucet's transaction is in the next
// block, and that of the address in the one after it.
func (c *Chain) Give(to *address.Address, nano uint64) {
	c.Pay(Payment{To: to, Nano: nano})
}

// Pay lets the faucet make payments, all in one transaction. There are four at most.
func (c *Chain) Pay(payments ...Payment) {
	c.t.Helper()
	message, err := c.nextPayment(payments)
	if err != nil {
		c.t.Fatal(err)
	}
	c.Inject(message)
}

func (c *Chain) nextPayment(payments []Payment) (*cell.Cell, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const forever, simple, payFees = 1<<32 - 1, 0, 1
	order := cell.BeginCell().MustStoreUInt(faucetSubwallet, 32).MustStoreUInt(forever, 32).
		MustStoreUInt(uint64(c.faucet.seqno), 32).MustStoreUInt(simple, 8)
	for _, p := range payments {
		out, err := tlb.ToCell(&tlb.InternalMessage{
			IHRDisabled: true, Bounce: p.Bounce, DstAddr: p.To, Amount: tlb.FromNanoTONU(p.Nano), Body: p.Body,
		})
		if err != nil {
			return nil, err
		}
		order.MustStoreUInt(payFees, 8).MustStoreRef(out)
	}
	body := cell.BeginCell().MustStoreSlice(order.EndCell().Sign(c.faucet.key), 512).MustStoreBuilder(order).EndCell()
	c.faucet.seqno++
	return tlb.ToCell(&tlb.ExternalMessage{DstAddr: c.faucet.address, Body: body})
}
