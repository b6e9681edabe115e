package tontest

import (
	"crypto/sha256"
	"math/big"

	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/ton"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

const (
	masterchain = int32(-1)
	wholeShard  = int64(-1 << 63)
	globalID    = int32(-3) // the test network
)

// block is a block of the shard with the block of the masterchain that has it.
type block struct {
	time          uint32
	id, shardID   *ton.BlockIDExt
	cell, state   *cell.Cell // masterchain
	shard         *cell.Cell
	shardState    *cell.Cell
	accounts      *tlb.ShardAccountsAugDict
	lt            uint64
	signedBy      signer
	previousShard *ton.BlockIDExt
}

// content is what a block has that the one before it had not.
type content struct {
	time     uint32
	lt       uint64
	accounts *tlb.ShardAccountsAugDict // after the block
	changes  []change
	signer   signer
}

// change is a transaction of a block.
type change struct {
	account     []byte
	lt          uint64
	previous    uint64 // the logical time of the account's transaction before it, 0 for none
	transaction *cell.Cell
}

// seal makes the block after a previous one, which is nil for the genesis block.
func seal(previous *block, c content) (*block, error) {
	b := &block{time: c.time, lt: c.lt, accounts: c.accounts, signedBy: c.signer}
	seqno, oldShard, oldMaster := uint32(1), empty(), empty()
	var before *ton.BlockIDExt
	if previous != nil {
		seqno, oldShard, oldMaster = previous.id.SeqNo+1, previous.shardState, previous.state
		before, b.previousShard = previous.id, previous.shardID
	}
	accounts, err := c.accounts.ToCell()
	if err != nil {
		return nil, err
	}
	b.shardState = stateCell(0, seqno, c, accounts, nil)
	changed, err := accountBlocks(c.changes)
	if err != nil {
		return nil, err
	}
	header := headerOf(0, seqno, c, b.previousShard)
	header.MasterRef = reference(before, c.lt)
	if b.shard, err = blockCell(header, oldShard, b.shardState, changed, nil); err != nil {
		return nil, err
	}
	b.shardID = identify(0, seqno, b.shard)
	return b, b.sealMaster(seqno, c, before, oldMaster)
}

// sealMaster makes the masterchain's block, whose hashes prove the shard's.
func (b *block) sealMaster(seqno uint32, c content, before *ton.BlockIDExt, old *cell.Cell) error {
	shards, err := shardHashes(seqno, c, b.shardID)
	if err != nil {
		return err
	}
	none, err := tlb.NewShardAccountsAugDict()
	if err != nil {
		return err
	}
	accounts, err := none.ToCell()
	if err != nil {
		return err
	}
	parameters := c.signer.parameters()
	b.state = stateCell(masterchain, seqno, c, accounts, masterState(shards, parameters))
	extra, err := masterExtra(shards, parameters)
	if err != nil {
		return err
	}
	if b.cell, err = blockCell(headerOf(masterchain, seqno, c, before), old, b.state, empty(), extra); err != nil {
		return err
	}
	b.id = identify(masterchain, seqno, b.cell)
	return nil
}

func empty() *cell.Cell { return cell.BeginCell().EndCell() }

func zeros() []byte { return make([]byte, 32) }

func identify(workchain int32, seqno uint32, c *cell.Cell) *ton.BlockIDExt {
	file := sha256.Sum256(c.ToBOC())
	return &ton.BlockIDExt{Workchain: workchain, Shard: wholeShard, SeqNo: seqno, RootHash: c.Hash(), FileHash: file[:]}
}

func reference(id *ton.BlockIDExt, lt uint64) *tlb.ExtBlkRef {
	if id == nil {
		return &tlb.ExtBlkRef{EndLt: lt, RootHash: zeros(), FileHash: zeros()}
	}
	return &tlb.ExtBlkRef{EndLt: lt, SeqNo: id.SeqNo, RootHash: id.RootHash, FileHash: id.FileHash}
}

func headerOf(workchain int32, seqno uint32, c content, previous *ton.BlockIDExt) *tlb.BlockHeader {
	h := &tlb.BlockHeader{PrevRef: tlb.BlkPrevInfo{Prev1: *reference(previous, c.lt)}}
	h.NotMaster, h.KeyBlock = workchain != masterchain, workchain == masterchain
	h.SeqNo, h.GenUtime, h.StartLt, h.EndLt = seqno, c.time, c.lt, c.lt+1
	h.Shard = tlb.ShardIdent{WorkchainID: workchain}
	h.GenValidatorListHashShort, h.GenCatchainSeqno = c.signer.setHash(), catchainSeqno
	return h
}

func blockCell(header *tlb.BlockHeader, old, state, accountBlocks, custom *cell.Cell) (*cell.Cell, error) {
	info, err := header.ToCell()
	if err != nil {
		return nil, err
	}
	update, err := merkleUpdate(old, state)
	if err != nil {
		return nil, err
	}
	extra := cell.BeginCell().MustStoreUInt(0x4a33f6fd, 32).
		MustStoreRef(empty()).MustStoreRef(empty()).MustStoreRef(accountBlocks).
		MustStoreSlice(zeros(), 256).MustStoreSlice(zeros(), 256).MustStoreMaybeRef(custom).EndCell()
	return cell.BeginCell().MustStoreUInt(0x11ef55aa, 32).MustStoreInt(int64(globalID), 32).
		MustStoreRef(info).MustStoreRef(empty()).MustStoreRef(update).MustStoreRef(extra).EndCell(), nil
}

// merkleUpdate says which state a block leads to, without what is in it.
func merkleUpdate(old, state *cell.Cell) (*cell.Cell, error) {
	const kind, level = 4, 1
	b := cell.BeginCell().MustStoreUInt(kind, 8)
	for _, c := range []*cell.Cell{old, state} {
		b.MustStoreSlice(c.Hash(), 256)
	}
	for _, c := range []*cell.Cell{old, state} {
		b.MustStoreUInt(uint64(c.Depth()), 16)
	}
	for _, c := range []*cell.Cell{old, state} {
		pruned, err := cell.CreatePrunedBranch(c, level, 0)
		if err != nil {
			return nil, err
		}
		b.MustStoreRef(pruned)
	}
	return b.EndCellSpecial(true)
}

func noCoins(b *cell.Builder) *cell.Builder {
	return b.MustStoreBigCoins(new(big.Int)).MustStoreBoolBit(false)
}
