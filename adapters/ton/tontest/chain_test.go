package tontest_test

import (
	"testing"

	"github.com/xssnick/tonutils-go/address"
	"github.com/xssnick/tonutils-go/liteclient"
	"github.com/xssnick/tonutils-go/ton"

	"github.com/fsmgen/fsmgen/adapters/ton/tontest"
)

// client is an unmodified client with the policy Secure.
func client(t *testing.T, c *tontest.Chain, s *tontest.Server) *ton.APIClient {
	t.Helper()
	config, err := liteclient.GetConfigFromFile(c.ConfigFile(s))
	if err != nil {
		t.Fatal(err)
	}
	pool := liteclient.NewConnectionPool()
	t.Cleanup(pool.Stop)
	if err := pool.AddConnectionsFromConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	api := ton.NewAPIClient(pool, ton.ProofCheckPolicySecure)
	api.SetTrustedBlockFromConfig(config)
	return api
}

func account(b byte) *address.Address {
	data := make([]byte, 32)
	data[0], data[31] = b, b
	return address.NewAddress(0, 0, data).Bounce(false)
}

// TestAnUnmodifiedClient: the client of tonutils-go checks every proof of a payment and accepts it.
func TestAnUnmodifiedClient(t *testing.T) {
	t.Parallel()
	c := tontest.New(t)
	api := client(t, c, c.Serve())
	to := account(7)
	c.Give(to, 3_000_000_000)
	c.Settle()
	master, err := api.GetMasterchainInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if master.SeqNo != c.Seqno() || c.Seqno() != 3 {
		t.Errorf("the last block is %d, and the chain's is %d", master.SeqNo, c.Seqno())
	}
	got, err := api.WaitForBlock(master.SeqNo).GetAccount(t.Context(), master, to)
	if err != nil {
		t.Fatal(err)
	}
	if balance := got.State.Balance.Nano().Uint64(); balance != 3_000_000_000 || c.Balance(to) != balance {
		t.Errorf("the account has %d, and %d in the chain", balance, c.Balance(to))
	}
	list, err := api.ListTransactions(t.Context(), to, 10, got.LastTxLT, got.LastTxHash)
	if err != nil || len(list) != 1 || list[0].IO.In.AsInternal().Amount.Nano().Uint64() != 3_000_000_000 {
		t.Errorf("%d transactions, %v", len(list), err)
	}
	none, err := api.GetAccount(t.Context(), master, account(9))
	if err != nil || none.IsActive {
		t.Errorf("an account without a payment: %v, %v", none, err)
	}
	shards, err := api.GetBlockShardsInfo(t.Context(), master)
	if err != nil || len(shards) != 1 {
		t.Fatalf("%d shards, %v", len(shards), err)
	}
	data, err := api.GetBlockData(t.Context(), shards[0])
	if err != nil {
		t.Fatal(err)
	}
	paid, err := data.ListTransactions()
	if err != nil || len(paid) != 1 {
		t.Errorf("%d transactions in the block, %v", len(paid), err)
	}
	parents, err := ton.GetParentBlocks(&data.BlockInfo)
	if err != nil || len(parents) != 1 || parents[0].SeqNo != shards[0].SeqNo-1 {
		t.Errorf("parents %v, %v", parents, err)
	}
	header, err := api.GetBlockHeader(t.Context(), master)
	if err != nil || header.SeqNo != master.SeqNo {
		t.Errorf("header %v, %v", header, err)
	}
}

// TestBlocks: a block has the transactions of many messages; a transaction with two outputs pays both
// in the next block, and all money came from the faucet.
func TestBlocks(t *testing.T) {
	t.Parallel()
	c := tontest.New(t)
	api := client(t, c, c.Serve())
	c.Pay(tontest.Payment{To: account(1), Nano: 10}, tontest.Payment{To: account(2), Nano: 20})
	c.Give(account(1), 30)
	if c.Advance(1); c.InFlight() != 3 || c.Balance(account(1)) != 0 {
		t.Errorf("%d messages are on their way, and %d has arrived", c.InFlight(), c.Balance(account(1)))
	}
	c.Advance(1)
	if c.Balance(account(1)) != 40 || c.Balance(account(2)) != 20 {
		t.Errorf("the accounts have %d and %d", c.Balance(account(1)), c.Balance(account(2)))
	}
	master, err := api.GetMasterchainInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shards, err := api.GetBlockShardsInfo(t.Context(), master)
	if err != nil {
		t.Fatal(err)
	}
	data, err := api.GetBlockData(t.Context(), shards[0])
	if err != nil {
		t.Fatal(err)
	}
	if list, err := data.ListTransactions(); err != nil || len(list) != 3 {
		t.Errorf("the block has %d transactions, %v", len(list), err)
	}
	if spent := tontest.Supply - c.Balance(c.Faucet()); spent < 60 || spent > 60+100_000_000 {
		t.Errorf("the faucet has spent %d", spent)
	}
}

// TestFaults: an unmodified client notices each fault, and works again without it.
func TestFaults(t *testing.T) {
	t.Parallel()
	c := tontest.New(t)
	s := c.Serve()
	api := client(t, c, s)
	c.Give(account(1), 1_000_000_000)
	c.Settle()
	master, err := api.GetMasterchainInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	look := func(*testing.T) error { _, err := api.GetAccount(t.Context(), master, account(1)); return err }
	grow := func(*testing.T) error { c.Advance(1); _, err := api.GetMasterchainInfo(t.Context()); return err }
	read := func(t *testing.T) error {
		shards, err := api.GetBlockShardsInfo(t.Context(), master)
		if err != nil {
			t.Fatal(err)
		}
		_, err = api.GetBlockData(t.Context(), shards[0])
		return err
	}
	for name, tt := range map[string]struct {
		faults tontest.Faults
		ask    func(*testing.T) error
	}{
		"an old block":        {tontest.Faults{OldBlock: true}, look},
		"a forged account":    {tontest.Faults{ForgedAccount: true}, look},
		"a foreign validator": {tontest.Faults{ForeignValidator: true}, grow},
		"a forged block":      {tontest.Faults{ForgedBlock: true}, read},
		"a server behind":     {tontest.Faults{Behind: 100}, look},
	} {
		s.Break(tt.faults)
		if err := tt.ask(t); err == nil {
			t.Errorf("%s was not noticed", name)
		}
		s.Repair()
		if err := tt.ask(t); err != nil {
			t.Errorf("%s: after it: %v", name, err)
		}
	}
}
