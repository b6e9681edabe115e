package storetest

import (
	"strings"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func keys[Tx any]() []storeCase[Tx] {
	return []storeCase[Tx]{
		{"AConsumedKeyIsFound", keyIsFound[Tx]},
		{"AKeyIsConsumedOnce", keyOnce[Tx]},
		{"AKeyIsUniqueForEver", keyForEver[Tx]},
		{"KeysBelongToAMachine", keysOfMachines[Tx]},
		{"AKeyGoesWithItsTransaction", keyRollsBack[Tx]},
		{"AConsumedKeyCannotBeEdited", keyStays[Tx]},
	}
}

func key[Tx any](h versioned[Tx], name string) store.IdempotencyKey {
	return store.IdempotencyKey{Machine: h.machine.Name(), Key: name, RecordID: h.id, Event: "SUBMIT_OFFER", Version: h.version + 1, CreatedAt: startTime}
}

func keyIsFound[Tx any](f *fixture[Tx]) {
	h := f.deal()
	c, h2 := f.commit(h, deal.SubmitOffer{}, advertiser, startTime)
	c.IdempotencyKeys = []store.IdempotencyKey{key(h, "one"), key(h, `two "%'`)}
	f.must(f.save(c))
	row := f.load(h2, store.Query{IdempotencyKeys: []string{"one", "none", `two "%'`}})
	if len(row.IdempotencyKeys) != 2 || row.Record == nil {
		f.Fatalf("it found %s", text(row.IdempotencyKeys))
	}
	for _, k := range row.IdempotencyKeys {
		want := key(h, k.Key)
		want.By, want.Payload = c.Steps[0].By, c.Steps[0].Payload
		if text(k) != text(want) {
			f.Errorf("the key is %s, want %s", text(k), text(want))
		}
	}
	// The key is found without a record too, since a creation asks for it.
	if row := f.load(f.new(f.deals), store.Query{IdempotencyKeys: []string{"one"}}); len(row.IdempotencyKeys) != 1 {
		f.Errorf("without a record it found %s", text(row.IdempotencyKeys))
	}
}

func keyOnce[Tx any](f *fixture[Tx]) {
	h, other := f.deal(), f.deal()
	c, _ := f.commit(h, deal.SubmitOffer{}, advertiser, startTime)
	c.IdempotencyKeys = []store.IdempotencyKey{key(h, "one")}
	f.must(f.save(c))
	again, _ := f.commit(other, deal.SubmitOffer{}, advertiser, startTime)
	again.IdempotencyKeys = []store.IdempotencyKey{key(other, "one")}
	err := f.save(again)
	f.wantError(err, store.ErrKeyUsed)
	if e := as[*store.KeyError](f, err); e.Machine != "deal" || e.Key != "one" {
		f.Fatalf("the error says %+v", e)
	}
	f.wantStored(other)
}

// keyForEver uses a key again after its record has ended.
func keyForEver[Tx any](f *fixture[Tx]) {
	h := f.deal()
	c, h := f.commit(h, deal.Cancel{}, advertiser, startTime)
	c.IdempotencyKeys = []store.IdempotencyKey{key(h, "one")}
	f.must(f.save(c))
	later := f.emptyCommit(h)
	later.IdempotencyKeys = []store.IdempotencyKey{key(h, "one")}
	later.IdempotencyKeys[0].CreatedAt = startTime.AddDate(10, 0, 0)
	f.wantError(f.save(later), store.ErrKeyUsed)
	f.wantCount("fsm_keys", 1)
}

func keysOfMachines[Tx any](f *fixture[Tx]) {
	h, w := f.deal(), f.walRecord("s3://a")
	for _, r := range []versioned[Tx]{h, w} {
		c := f.emptyCommit(r)
		c.IdempotencyKeys = []store.IdempotencyKey{key(r, "one")}
		f.must(f.save(c))
	}
	f.wantCount("fsm_keys", 2)
	if row := f.load(w, store.Query{IdempotencyKeys: []string{"one"}}); len(row.IdempotencyKeys) != 1 || row.IdempotencyKeys[0].RecordID != w.id {
		f.Fatalf("it found %s", text(row.IdempotencyKeys))
	}
}

func keyRollsBack[Tx any](f *fixture[Tx]) {
	h := f.deal()
	c, _ := f.commit(h, deal.SubmitOffer{}, advertiser, startTime)
	c.IdempotencyKeys = []store.IdempotencyKey{key(h, "one")}
	c.Steps[0].Version = 7 // no such version to come from
	f.wantError(f.save(c), store.ErrConflict)
	if row := f.load(h, store.Query{IdempotencyKeys: []string{"one"}}); len(row.IdempotencyKeys) != 0 {
		f.Fatalf("a refused event consumed %s", text(row.IdempotencyKeys))
	}
}

// keyStays updates and deletes a key by hand, as an operator in a shell could try.
func keyStays[Tx any](f *fixture[Tx]) {
	h := f.deal()
	c := f.emptyCommit(h)
	c.IdempotencyKeys = []store.IdempotencyKey{key(h, "one")}
	f.must(f.save(c))
	for _, statement := range []string{
		"UPDATE fsm_keys SET record_id = 'another'", "UPDATE fsm_keys SET key = 'two'", "DELETE FROM fsm_keys",
	} {
		err := f.Store.InTx(f.ctx, func(tx Tx) error { return f.Exec(f.ctx, tx, statement) })
		if err == nil || !strings.Contains(err.Error(), "fsmgen: fsm_keys: a consumed key") {
			f.Errorf("%s: the error is %v", statement, err)
		}
	}
	f.wantCount("fsm_keys WHERE key = 'one' AND record_id = '"+h.id+"'", 1)
}
