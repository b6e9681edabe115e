// Package tontest is a TON chain for tests: a liteserver whose accounts run on the real TVM.
//
//	chain := tontest.New(t)
//	server := chain.Serve()
//	client, err := ton.Open(t.Context(), ton.Config{File: chain.ConfigFile(server)})
//	chain.Give(address, 5_000_000_000)
//	chain.Settle()
//
// # What is real
//
// The TVM and the phases of a transaction are those of the node, in a process of Node.js that
// tools/parts installs (FSMGEN_TON): storage fees, gas, actions, bounces. The liteserver speaks ADNL
// over TCP on a free loopback port. The blocks, states and proofs have the layout of the chain, and
// validators sign them, so an unmodified client checks every proof. Money is created in the genesis
// block only, and each message pays its fees.
//
// # What is not
//
// There is one validator, whose key the test knows, and no consensus: a block is made when the test
// calls [Chain.Advance]. There is one shard. Every masterchain block is a key block, so that each
// proves the next. Block headers have no value flow and no message descriptions. The clock is the
// test's.
package tontest
