package storetest

import (
	"strings"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func keys[Tx any]() []test[Tx] {
	return []test[Tx]{
		{"AConsumedKeyIsFound", keyIsFound[Tx]},
		{"AKeyIsConsumedOnce", keyOnce[Tx]},
		{"AKeyIsUniqueForEver", keyForEver[Tx]},
		{"KeysBelongToAMachine", keysOfMachines[Tx]},
		{"AKeyGoesWithItsTransaction", keyRollsBack[Tx]},
		{"AConsumedKeyCannotBeEdited", keyStays[Tx]},
	}
}

func key[Tx any](h head[Tx], name string) store.IdempotencyKey {
	return store.IdempotencyKey{Machine: h.machine.Name(), Key: name, RecordID: h.id, Event: "SUBMIT_OFFER", Version: h.version + 1, CreatedAt: epoch}
}

func keyIsFound[Tx any](b *bench[Tx]) {
	h := b.deal()
	c, h2 := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	c.IdempotencyKeys = []store.IdempotencyKey{key(h, "one"), key(h, `two "%'`)}
	b.must(b.save(c))
	row := b.load(h2, store.Query{IdempotencyKeys: []string{"one", "none", `two "%'`}})
	if len(row.IdempotencyKeys) != 2 || row.Record == nil {
		b.Fatalf("it found %s", text(row.IdempotencyKeys))
	}
	for _, k := range row.IdempotencyKeys {
		want := key(h, k.Key)
		want.By, want.Payload = c.Steps[0].By, c.Steps[0].Payload
		if text(k) != text(want) {
			b.Errorf("the key is %s, want %s", text(k), text(want))
		}
	}
	// Of a record that is not there the key is found too: a creation asks.
	if row := b.load(b.new(b.deals), store.Query{IdempotencyKeys: []string{"one"}}); len(row.IdempotencyKeys) != 1 {
		b.Errorf("without a record it found %s", text(row.IdempotencyKeys))
	}
}

func keyOnce[Tx any](b *bench[Tx]) {
	h, other := b.deal(), b.deal()
	c, _ := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	c.IdempotencyKeys = []store.IdempotencyKey{key(h, "one")}
	b.must(b.save(c))
	again, _ := b.commit(other, deal.SubmitOffer{}, advertiser, epoch)
	again.IdempotencyKeys = []store.IdempotencyKey{key(other, "one")}
	err := b.save(again)
	b.wants(err, store.ErrKeyUsed)
	if e := as[*store.KeyError](b, err); e.Machine != "deal" || e.Key != "one" {
		b.Fatalf("the error says %+v", e)
	}
	b.stands(other)
}

// keyForEver tries a key again after its record has ended.
func keyForEver[Tx any](b *bench[Tx]) {
	h := b.deal()
	c, h := b.commit(h, deal.Cancel{}, advertiser, epoch)
	c.IdempotencyKeys = []store.IdempotencyKey{key(h, "one")}
	b.must(b.save(c))
	later := b.about(h)
	later.IdempotencyKeys = []store.IdempotencyKey{key(h, "one")}
	later.IdempotencyKeys[0].CreatedAt = epoch.AddDate(10, 0, 0)
	b.wants(b.save(later), store.ErrKeyUsed)
	b.counts("fsm_keys", 1)
}

func keysOfMachines[Tx any](b *bench[Tx]) {
	h, w := b.deal(), b.walRecord("s3://a")
	for _, r := range []head[Tx]{h, w} {
		c := b.about(r)
		c.IdempotencyKeys = []store.IdempotencyKey{key(r, "one")}
		b.must(b.save(c))
	}
	b.counts("fsm_keys", 2)
	if row := b.load(w, store.Query{IdempotencyKeys: []string{"one"}}); len(row.IdempotencyKeys) != 1 || row.IdempotencyKeys[0].RecordID != w.id {
		b.Fatalf("it found %s", text(row.IdempotencyKeys))
	}
}

func keyRollsBack[Tx any](b *bench[Tx]) {
	h := b.deal()
	c, _ := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	c.IdempotencyKeys = []store.IdempotencyKey{key(h, "one")}
	c.Steps[0].Version = 7 // no such version to come from
	b.wants(b.save(c), store.ErrConflict)
	if row := b.load(h, store.Query{IdempotencyKeys: []string{"one"}}); len(row.IdempotencyKeys) != 0 {
		b.Fatalf("a refused event consumed %s", text(row.IdempotencyKeys))
	}
}

// keyStays changes and deletes a key by hand, as a person in a shell would.
func keyStays[Tx any](b *bench[Tx]) {
	h := b.deal()
	c := b.about(h)
	c.IdempotencyKeys = []store.IdempotencyKey{key(h, "one")}
	b.must(b.save(c))
	for _, statement := range []string{
		"UPDATE fsm_keys SET record_id = 'another'", "UPDATE fsm_keys SET key = 'two'", "DELETE FROM fsm_keys",
	} {
		err := b.Store.InTx(b.ctx, func(tx Tx) error { return b.Exec(b.ctx, tx, statement) })
		if err == nil || !strings.Contains(err.Error(), "fsmgen: fsm_keys: a consumed key") {
			b.Errorf("%s: the error is %v", statement, err)
		}
	}
	b.counts("fsm_keys WHERE key = 'one' AND record_id = '"+h.id+"'", 1)
}
