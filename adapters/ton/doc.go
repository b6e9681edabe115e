// Package ton reads deposits from the TON chain, and makes transfers that can't be sent twice.
//
//	client, err := ton.Open(ctx, ton.Config{File: "global.config.json"})
//	…
//	address, err := ton.WalletAddress(publicKey, subwallet) // for a deal; show ton.Mainnet.Show(address)
//	watcher, err := ton.NewWatcher(ton.WatcherConfig{Client: client, Deposits: store})
//	go watcher.Run(ctx)
//
//	wallet, err := ton.NewWallet(ton.WalletConfig{Client: client, Key: key, Subwallet: subwallet})
//	signed, err := wallet.Sign(ctx, ton.Transfer{To: owner, Nano: 5_000_000_000, Comment: dealID})
//	// store signed
//	err = wallet.Send(ctx, signed)
//	outcome, err := wallet.Outcome(ctx, signed)
//
// # What it guarantees
//
// Every answer of a liteserver is proved: the signatures of validators lead from the block that the
// configuration pins to the last block, and hashes lead from there to accounts, transactions and
// blocks. An answer without proof is [ErrProof], and nothing of it is used. Config.Unproved switches
// this off.
//
// [Watcher.Round] finds every deposit to a watched address up to the view that it returns. It reads
// the blocks since the round before and looks only at accounts that have a transaction there, so
// thousands of addresses cost no call each. Whatever it missed while it did not run, it finds by the
// cursors. It calls [Deposits.Credit] again after a failure; the application credits an address,
// logical time and hash once. With the costs that it passes along, the balance of an address is its
// deposits, less their fees, the costs and what its own transfers took. Jettons are out of scope: amounts
// are nano TON.
//
// [Wallet.Sign] signs once, and [Wallet.Send] sends the same bytes each time. The chain executes them
// once at most: the wallet's contract checks the seqno and the time. [Wallet.Outcome] says [Expired]
// only if all transactions of the wallet since the signing are known up to a block whose own time is
// after ValidUntil and a slack. A transfer that is [Found] has not arrived yet: its message may have
// been skipped, be on its way, or come back. [Highload] makes many transfers at the same time, with
// query ids instead of a seqno.
//
// # What it needs
//
// A network configuration with liteservers and validator.init_block, and their ADNL ports over TCP. A
// watcher that did not run for long needs a liteserver that keeps transactions for that time.
//
// # What it must not know
//
// What a deposit is for, and who may be paid.
package ton
