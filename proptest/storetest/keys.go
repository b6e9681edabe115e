package storetest

import (
	"strings"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
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

func key(h Versioned, name string) store.IdempotencyKey {
	return store.IdempotencyKey{Machine: h.machine.Name(), Key: name, RecordID: h.id, Event: "SUBMIT_OFFER", Version: h.version + 1, CreatedAt: StartTime}
}

func keyIsFound[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c, h2 := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	c.IdempotencyKeys = []store.IdempotencyKey{key(h, "one"), key(h, `two "%'`)}
	f.Must(f.Save(c))
	row := f.load(h2, store.Query{IdempotencyKeys: []string{"one", "none", `two "%'`}})
	if len(row.IdempotencyKeys) != 2 || row.Record == nil {
		f.Fatalf("it found %s", Text(row.IdempotencyKeys))
	}
	for _, k := range row.IdempotencyKeys {
		want := key(h, k.Key)
		want.By, want.Payload = c.Steps[0].By, c.Steps[0].Payload
		if Text(k) != Text(want) {
			f.Errorf("the key is %s, want %s", Text(k), Text(want))
		}
	}
	// The key is found without a record too, since a creation asks for it.
	if row := f.load(f.new(f.Deals), store.Query{IdempotencyKeys: []string{"one"}}); len(row.IdempotencyKeys) != 1 {
		f.Errorf("without a record it found %s", Text(row.IdempotencyKeys))
	}
}

func keyOnce[Tx any](f *Fixture[Tx]) {
	h, other := f.deal(), f.deal()
	c, _ := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	c.IdempotencyKeys = []store.IdempotencyKey{key(h, "one")}
	f.Must(f.Save(c))
	again, _ := f.commit(other, deal.SubmitOffer{}, Advertiser, StartTime)
	again.IdempotencyKeys = []store.IdempotencyKey{key(other, "one")}
	err := f.Save(again)
	f.WantError(err, store.ErrKeyUsed)
	if e := As[*store.KeyError](f, err); e.Machine != "deal" || e.Key != "one" {
		f.Fatalf("the error says %+v", e)
	}
	f.wantStored(other)
}

// keyForEver uses a key again after its record has ended.
func keyForEver[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c, h := f.commit(h, deal.Cancel{}, Advertiser, StartTime)
	c.IdempotencyKeys = []store.IdempotencyKey{key(h, "one")}
	f.Must(f.Save(c))
	later := f.EmptyCommit(h)
	later.IdempotencyKeys = []store.IdempotencyKey{key(h, "one")}
	later.IdempotencyKeys[0].CreatedAt = StartTime.AddDate(10, 0, 0)
	f.WantError(f.Save(later), store.ErrKeyUsed)
	f.WantCount("fsm_keys", 1)
}

func keysOfMachines[Tx any](f *Fixture[Tx]) {
	h, w := f.deal(), f.walRecord("s3://a")
	for _, r := range []Versioned{h, w} {
		c := f.EmptyCommit(r)
		c.IdempotencyKeys = []store.IdempotencyKey{key(r, "one")}
		f.Must(f.Save(c))
	}
	f.WantCount("fsm_keys", 2)
	if row := f.load(w, store.Query{IdempotencyKeys: []string{"one"}}); len(row.IdempotencyKeys) != 1 || row.IdempotencyKeys[0].RecordID != w.id {
		f.Fatalf("it found %s", Text(row.IdempotencyKeys))
	}
}

func keyRollsBack[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c, _ := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	c.IdempotencyKeys = []store.IdempotencyKey{key(h, "one")}
	c.Steps[0].Version = 7 // no such version to come from
	f.WantError(f.Save(c), store.ErrConflict)
	if row := f.load(h, store.Query{IdempotencyKeys: []string{"one"}}); len(row.IdempotencyKeys) != 0 {
		f.Fatalf("a refused event consumed %s", Text(row.IdempotencyKeys))
	}
}

// keyStays updates and deletes a key by hand, as an operator in a shell could try.
func keyStays[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c := f.EmptyCommit(h)
	c.IdempotencyKeys = []store.IdempotencyKey{key(h, "one")}
	f.Must(f.Save(c))
	for _, statement := range []string{
		"UPDATE fsm_keys SET record_id = 'another'", "UPDATE fsm_keys SET key = 'two'", "DELETE FROM fsm_keys",
	} {
		err := f.Store.InTx(f.Context(), func(tx Tx) error { return f.Exec(f.Context(), tx, statement) })
		if err == nil || !strings.Contains(err.Error(), "fsmgen: fsm_keys: a consumed key") {
			f.Errorf("%s: the error is %v", statement, err)
		}
	}
	f.WantCount("fsm_keys WHERE key = 'one' AND record_id = '"+h.id+"'", 1)
}
