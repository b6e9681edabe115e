package tontest

import (
	"math/big"
	"slices"

	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/ton"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

func stateCell(workchain int32, seqno uint32, c content, accounts, custom *cell.Cell) *cell.Cell {
	statistics := noCoins(noCoins(cell.BeginCell().MustStoreUInt(0, 64).MustStoreUInt(0, 64))).
		MustStoreBoolBit(false).MustStoreBoolBit(false).EndCell()
	return cell.BeginCell().MustStoreUInt(0x9023afe2, 32).MustStoreInt(int64(globalID), 32).
		MustStoreUInt(0, 8).MustStoreInt(int64(workchain), 32).MustStoreUInt(0, 64). // ShardIdent: the whole workchain
		MustStoreUInt(uint64(seqno), 32).MustStoreUInt(0, 32).MustStoreUInt(uint64(c.time), 32).MustStoreUInt(c.lt, 64).
		MustStoreUInt(uint64(seqno), 32).MustStoreRef(empty()).MustStoreBoolBit(false).
		MustStoreRef(accounts).MustStoreRef(statistics).MustStoreMaybeRef(custom).EndCell()
}

// shardHashes says which block the only shard has.
func shardHashes(seqno uint32, c content, id *ton.BlockIDExt) (*cell.Dictionary, error) {
	description := tlb.ShardDesc{
		SeqNo: seqno, RegMcSeqno: seqno, StartLT: c.lt, EndLT: c.lt + 1, RootHash: id.RootHash, FileHash: id.FileHash,
		NextCatchainSeqNo: catchainSeqno, NextValidatorShard: wholeShard, MinRefMcSeqNo: seqno, GenUTime: c.time,
		SplitMergeAt: tlb.FutureSplitMergeNone{},
	}
	described, err := tlb.ToCell(description)
	if err != nil {
		return nil, err
	}
	leaf := cell.BeginCell().MustStoreBoolBit(false).MustStoreBuilder(described.ToBuilder()).EndCell()
	shards := cell.NewDict(32)
	return shards, shards.SetIntKey(big.NewInt(0), cell.BeginCell().MustStoreRef(leaf).EndCell())
}

func masterState(shards *cell.Dictionary, parameters *cell.Cell) *cell.Cell {
	const noDictionary = 65 // an empty dictionary of old blocks with its extra
	info := cell.BeginCell().MustStoreUInt(0, 16).MustStoreUInt(0, 65).MustStoreBoolBit(false).
		MustStoreBigUInt(new(big.Int), 1+noDictionary).MustStoreBoolBit(true).MustStoreBoolBit(false).EndCell()
	return noCoins(cell.BeginCell().MustStoreUInt(0xcc26, 16).MustStoreDict(shards).
		MustStoreSlice(zeros(), 256).MustStoreRef(parameters).MustStoreRef(info)).EndCell()
}

func masterExtra(shards *cell.Dictionary, parameters *cell.Cell) (*cell.Cell, error) {
	noFees, err := tlb.NewShardFeesAugDict()
	if err != nil {
		return nil, err
	}
	fees, err := noFees.ToCell()
	if err != nil {
		return nil, err
	}
	details := cell.BeginCell().MustStoreUInt(0, 3).EndCell()
	return cell.BeginCell().MustStoreUInt(0xcca5, 16).MustStoreBoolBit(true).MustStoreDict(shards).
		MustStoreBuilder(fees.ToBuilder()).MustStoreRef(details).
		MustStoreSlice(zeros(), 256).MustStoreRef(parameters).EndCell(), nil
}

// accountBlocks has the transactions of a block by their accounts.
func accountBlocks(changes []change) (*cell.Cell, error) {
	byAccount := map[string]*tlb.AccountTransactionsAugDict{}
	for _, c := range changes {
		transactions := byAccount[string(c.account)]
		if transactions == nil {
			var err error
			if transactions, err = tlb.NewAccountTransactionsAugDict(); err != nil {
				return nil, err
			}
			byAccount[string(c.account)] = transactions
		}
		key := cell.BeginCell().MustStoreUInt(c.lt, 64).EndCell()
		if err := transactions.Set(key, cell.BeginCell().MustStoreRef(c.transaction).EndCell()); err != nil {
			return nil, err
		}
	}
	blocks, err := tlb.NewShardAccountBlocksAugDict()
	if err != nil {
		return nil, err
	}
	update := cell.BeginCell().MustStoreUInt(0x72, 8).MustStoreSlice(zeros(), 256).MustStoreSlice(zeros(), 256).EndCell()
	for account, transactions := range byAccount {
		inline, err := transactions.InlineCell()
		if err != nil {
			return nil, err
		}
		value := cell.BeginCell().MustStoreUInt(5, 4).MustStoreSlice([]byte(account), 256).
			MustStoreBuilder(inline.ToBuilder()).MustStoreRef(update).EndCell()
		if err := blocks.Set(accountKey([]byte(account)), value); err != nil {
			return nil, err
		}
	}
	return blocks.ToCell()
}

func accountKey(account []byte) *cell.Cell {
	return cell.BeginCell().MustStoreSlice(slices.Clone(account), 256).EndCell()
}
