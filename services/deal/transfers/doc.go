// Package transfers moves the money of deals: it carries out the effects of the machine transfer
// (spec/transfer.yaml) on the TON chain, and books what the chain says.
//
//	database := transfers.NewDatabase(store, sqltx.Postgres)
//	handlers, err := transfers.New(transfers.Config[pgx.Tx]{
//		Escrow:   transfers.Shared(highload, database),
//		Deposits: func(ctx context.Context, deal fsm.UUID) (transfers.Wallet, error) { … },
//		…
//	})
//	engine.New(store, engine.Config{}, transfer.Define(handlers, transfer.DefaultParams()))
//
// # What it guarantees
//
// A transfer leaves its wallet once at most. What is signed is in the record before it is sent for
// the first time, and each send sends these bytes, which the chain executes once at most. Another
// message is signed only after the chain has said that these can't be executed any more, or that
// their money is in the wallet. Which wallet has signed is read off the bytes, so a transfer that is
// under way is followed in that wallet, also when another one is configured meanwhile.
//
// "Executed" is not "paid": a transfer is confirmed when its recipient was credited. What was skipped
// or came back is booked with its fees and goes to an operator.
//
// The ledger is written in the transaction of the step. Payouts are debited to the owner's account,
// refunds and returns to SUSPENSE. A collection moves money between wallets of ours: only its fees are
// booked, the recipient's among them. Amounts are nano TON; jettons have no place here.
//
// # What it needs
//
// A wallet whose transfers can be executed for less than the hour and a half in which the machine
// repeats an effect, and an engine with a ledger in its database.
//
// # What it must not know
//
// Why a deal pays, who may be paid, HTTP.
package transfers
