package ledger

import (
	"strconv"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Account is the name of an account. Its balance is what it was credited less what it was debited.
type Account string

const (
	// ExternalTON is the world outside: its balance is what the wallets hold, with the sign turned.
	ExternalTON Account = "EXTERNAL_TON"
	// Commission is what the platform has earned.
	Commission Account = "COMMISSION"
	// NetworkFees is what was kept for fees of the chain, less what they were. It may owe.
	NetworkFees Account = "NETWORK_FEES"
	// Suspense is money whose receiver is not decided: it waits for a refund address, for an
	// operator, or for ever if it is too little to send.
	Suspense Account = "SUSPENSE"
)

// Escrow is the account of a deal's escrow.
func Escrow(deal fsm.UUID) Account { return Account("ESCROW:" + deal.String()) }

// Owner is the account of the owner of a channel.
func Owner(id int64) Account { return Account("OWNER:" + strconv.FormatInt(id, 10)) }
