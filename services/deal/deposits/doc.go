// Package deposits gives each deal an address of its own on the TON chain, and credits what is paid to
// it.
//
//	addresses, err := deposits.NewAddresses(store, sqltx.Postgres, publicKey)
//	address, err := addresses.Of(ctx, deal)
//	credits, err := deposits.New(deposits.Config[pgx.Tx]{Addresses: addresses, Engine: e, …})
//	watcher, err := ton.NewWatcher(ton.WatcherConfig{Client: client, Deposits: credits})
//
// # What it guarantees
//
// A deposit is credited once, known by its address and its transaction there: however often the watcher
// finds it, and in however many processes. The cursor of the address, the deposit, the event of the deal
// and the collection of the money commit in one transaction, or none of them does. A transaction of the
// chain that pays two deals is a deposit of each.
//
// Deposits of a deal are confirmed in the order of the chain. Every address is watched for ever: a
// deposit may come after the end of its deal.
//
// What the chain takes from an address, for a deposit or for a message of a stranger, is booked as a fee
// of the network. The money itself is booked by the deal, which knows what it is for. Amounts are nano
// TON; jettons have no place here.
//
// [Funds] books what comes to the escrow wallet from elsewhere, by a watcher of its own. With both, the
// ledger has all that the wallets have, to the nano, once no message is on its way.
//
// # What it needs
//
// An engine with the machine transfer, and a ledger in its database.
//
// # What it must not know
//
// What a deposit is for, the private key, HTTP.
package deposits
