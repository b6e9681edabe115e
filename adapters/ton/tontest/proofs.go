package tontest

import (
	"crypto/ed25519"
	"math/big"

	"github.com/xssnick/tonutils-go/tl"
	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/ton"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

// whole returns a proof that has all of a cell.
func whole(c *cell.Cell) *cell.Cell {
	proof, err := cell.CreateMerkleProof(c)
	if err != nil {
		return empty() // no client accepts it
	}
	return proof
}

// account answers with an account and the way from a block of the masterchain to it.
func (v view) account(q ton.GetAccountState) tl.Serializable {
	b := v.find(q.ID)
	if b == nil {
		return notApplied(q.ID)
	}
	if v.faults.OldBlock && q.ID.SeqNo > 1 {
		b = v.blocks[q.ID.SeqNo-2]
	}
	state, accounts := b.shardState, b.accounts
	if v.faults.ForgedAccount {
		var err error
		if state, accounts, err = forge(b, q.Account.ID); err != nil {
			return ton.LSError{Code: codeProtocol, Text: err.Error()}
		}
	}
	proof, err := accountProof(state, q.Account.ID)
	if err != nil {
		return ton.LSError{Code: codeProtocol, Text: err.Error()}
	}
	answer := ton.AccountState{
		ID: q.ID, Shard: b.shardID,
		ShardProof: []*cell.Cell{whole(b.cell), whole(b.state)},
		Proof:      []*cell.Cell{whole(b.shard), proof},
	}
	if found, err := accountCell(accounts, q.Account.ID); err == nil {
		answer.State = found
	}
	return answer
}

// accountProof has of a state what a client reads on its way to an account, and nothing else.
func accountProof(state *cell.Cell, account []byte) (*cell.Cell, error) {
	builder := cell.NewMerkleProofBuilder(state)
	s, err := builder.Root().BeginParse()
	if err != nil {
		return nil, err
	}
	var read tlb.ShardStateUnsplit
	if err := tlb.LoadFromCellAsProof(&read, s, false); err != nil {
		return nil, err
	}
	_, _, _ = read.Accounts.ShardAccounts.LoadValueExtra(accountKey(account)) // no account is proved as well
	return builder.CreateProof()
}

// forge returns a state in which an account has ten times what it has, or ten TON.
func forge(b *block, account []byte) (*cell.Cell, *tlb.ShardAccountsAugDict, error) {
	accounts := &tlb.ShardAccountsAugDict{AugmentedDictionary: b.accounts.Copy()}
	rich, err := state(accounts, account)
	if err != nil {
		rich = &tlb.AccountState{
			IsValid: true, AccountStorage: tlb.AccountStorage{Status: tlb.AccountStatusUninit, Balance: tlb.MustFromTON("1")},
		}
		rich.Address = addressOf(account)
		rich.StorageInfo = tlb.StorageInfo{
			StorageUsed: tlb.StorageUsed{CellsUsed: new(big.Int), BitsUsed: new(big.Int)}, StorageExtra: tlb.StorageExtraNone{},
		}
	}
	rich.Balance = tlb.FromNanoTON(new(big.Int).Mul(rich.Balance.Nano(), big.NewInt(10)))
	forged, err := tlb.ToCell(rich)
	if err != nil {
		return nil, nil, err
	}
	value := cell.BeginCell().MustStoreRef(forged).MustStoreSlice(zeros(), 256).MustStoreUInt(b.lt, 64).EndCell()
	if err := accounts.Set(accountKey(account), value); err != nil {
		return nil, nil, err
	}
	root, err := accounts.ToCell()
	if err != nil {
		return nil, nil, err
	}
	return stateCell(0, b.id.SeqNo, content{time: b.time, lt: b.lt}, root, nil), accounts, nil
}

// proof leads from a block that the client trusts to a later one, which the validator of the first has
// signed.
func (v view) proof(q ton.GetBlockProof) tl.Serializable {
	from, to := v.find(q.KnownBlock), v.last()
	if q.TargetBlock != nil {
		to = v.find(q.TargetBlock)
	}
	switch {
	case from == nil:
		return notApplied(q.KnownBlock)
	case to == nil || to.id.SeqNo <= from.id.SeqNo:
		return ton.LSError{Code: codeNotReady, Text: "the target block is not known, or before the known block"}
	}
	validator := v.signer
	if v.faults.ForeignValidator {
		validator.key = ed25519.NewKeyFromSeed([]byte("a validator that nothing trusts!"))
	}
	signatures, err := validator.sign(to.id)
	if err != nil {
		return ton.LSError{Code: codeProtocol, Text: err.Error()}
	}
	return ton.PartialBlockProof{Complete: true, From: from.id, To: to.id, Steps: []any{ton.BlockLinkForward{
		ToKeyBlock: true, From: from.id, To: to.id,
		ConfigProof: whole(from.cell).ToBOC(), DestProof: whole(to.cell).ToBOC(), SignatureSet: signatures,
	}}}
}

// shards answers with the blocks of the shards that a block of the masterchain has.
func (v view) shards(q ton.GetAllShardsInfo) tl.Serializable {
	b := v.find(q.ID)
	if b == nil {
		return notApplied(q.ID)
	}
	list, err := shardHashes(b.id.SeqNo, content{time: b.time, lt: b.lt}, b.shardID)
	if err != nil {
		return ton.LSError{Code: codeProtocol, Text: err.Error()}
	}
	data := cell.BeginCell().MustStoreDict(list).EndCell()
	return ton.AllShardsInfo{ID: b.id, Proof: []*cell.Cell{whole(b.cell)}, Data: data}
}
