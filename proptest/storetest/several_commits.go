package storetest

import (
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// severalCommits are cases of a Save with several commits, as a transaction with several
// events makes it.
func severalCommits[Tx any]() []storeCase[Tx] {
	return []storeCase[Tx]{
		{"SeveralCommitsOfOneRecord", severalOfOne[Tx]},
		{"ALaterCommitOfARecordRollsBackTheEarlier", laterOfOneFails[Tx]},
		{"ARefusedCommitRollsBackTheOthers", refusedAmongOthers[Tx]},
	}
}

// twoSteps returns two steps of one record, with the creation of another record between
// them. Only the last commit has messages, deadlines and keys.
func (f *Fixture[Tx]) twoSteps(h Versioned) (commits []store.Commit, after, other Versioned) {
	f.Helper()
	first, after := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	made, other := f.commit(f.new(f.Deals), deal.Create{OwnerID: 8, PriceNano: 100}, Advertiser, StartTime)
	second, after := f.commit(after, deal.CounterOffer{PriceNano: 120}, Owner, StartTime.Add(time.Second))
	first.NoWakeup, made.NoWakeup = true, true
	rest := f.EmptyCommit(h)
	rest.Outbox, rest.SetDeadlines, rest.IdempotencyKeys = []store.OutboxMessage{f.Message(after, 0, "kafka")}, []store.Deadline{f.Deadline(after, StartTime)}, []store.IdempotencyKey{key(after, "k")}
	return []store.Commit{first, made, second, rest}, after, other
}

func severalOfOne[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	f.send(h, f.Message(h, 0, "kafka"))
	task := delivered(f.claimAll(901, StartTime)[0], StartTime)
	commits, after, other := f.twoSteps(h)
	commits[len(commits)-1].Task, commits[len(commits)-1].Last = &task, true
	f.Must(f.Save(commits...))
	f.wantStored(after)
	f.wantStored(other)
	if rows := f.history(h); len(rows) != 3 || rows[1].Event != "SUBMIT_OFFER" || rows[2].Event != "COUNTER_OFFER" {
		f.Fatalf("the history is %s", Text(rows))
	}
	f.WantCount("fsm_outbox WHERE state = 'delivered'", 1)
	f.WantCount("fsm_outbox WHERE version = 3", 1)
	f.WantCount("fsm_deadlines WHERE version = 3", 1)
	f.WantCount("fsm_keys", 1)
}

func laterOfOneFails[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	commits, _, other := f.twoSteps(h)
	commits[2].Steps[0].From = "NEGOTIATING"
	f.WantError(f.Save(commits...), store.ErrConflict)
	f.wantStored(h)
	f.wantStored(Versioned{machine: other.machine, id: other.id})
	f.wantNothingVisible()
}

// refusedAmongOthers has the database refuse one of three records.
func refusedAmongOthers[Tx any](f *Fixture[Tx]) {
	h, victim := f.deal(), f.deal()
	commits, _, other := f.twoSteps(h)
	c, _ := f.commit(victim, deal.SubmitOffer{}, Advertiser, StartTime)
	r := *c.Steps[0].Record.(*deal.Record)
	r.OwnerID = 99 // which is written once
	c.Steps[0].Record = &r
	for at := range len(commits) + 1 {
		all := append(append(append([]store.Commit{}, commits[:at]...), c), commits[at:]...)
		err := f.Save(all...)
		f.WantError(err, store.ErrRefused)
		if e := As[*store.RefusedError](f, err); e.ID != victim.id {
			f.Fatalf("refused as number %d, the error is %v", at, e)
		}
		f.wantStored(h)
		f.wantStored(victim)
		f.wantStored(Versioned{machine: other.machine, id: other.id})
		f.wantNothingVisible()
	}
	f.Must(f.Save(commits...))
}

// wantNothingVisible fails the test if there is anything that a worker, or a caller with
// a key, could see.
func (f *Fixture[Tx]) wantNothingVisible() {
	f.Helper()
	for _, table := range []string{"fsm_outbox", "fsm_deadlines", "fsm_keys"} {
		f.WantCount(table, 0)
	}
}
