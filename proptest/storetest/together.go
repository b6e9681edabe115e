package storetest

import (
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// together asks about a Save of several commits, as a transaction of several events
// makes it.
func together[Tx any]() []test[Tx] {
	return []test[Tx]{
		{"SeveralCommitsOfOneRecord", severalOfOne[Tx]},
		{"ALaterCommitOfARecordTakesTheEarlierWithIt", laterOfOneFails[Tx]},
		{"OneThatIsRefusedTakesTheOthersWithIt", refusedAmongOthers[Tx]},
	}
}

// fronts are two steps of one record, with another record made between them. Only
// the last commit has what others would see.
func (b *bench[Tx]) fronts(h head[Tx]) (commits []store.Commit, after, other head[Tx]) {
	b.Helper()
	first, after := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	made, other := b.commit(b.new(b.deals), deal.Create{OwnerID: 8, PriceNano: 100}, advertiser, epoch)
	second, after := b.commit(after, deal.CounterOffer{PriceNano: 120}, owner, epoch.Add(time.Second))
	first.NoWakeup, made.NoWakeup = true, true
	rest := b.about(h)
	rest.Outbox, rest.SetDeadlines, rest.IdempotencyKeys = []store.OutboxMessage{b.message(after, 0, "kafka")}, []store.Deadline{b.deadline(after, epoch)}, []store.IdempotencyKey{key(after, "k")}
	return []store.Commit{first, made, second, rest}, after, other
}

func severalOfOne[Tx any](b *bench[Tx]) {
	h := b.deal()
	b.send(h, b.message(h, 0, "kafka"))
	task := delivered(b.claims(901, epoch)[0], epoch)
	commits, after, other := b.fronts(h)
	commits[len(commits)-1].Task, commits[len(commits)-1].Last = &task, true
	b.must(b.save(commits...))
	b.stands(after)
	b.stands(other)
	if rows := b.history(h); len(rows) != 3 || rows[1].Event != "SUBMIT_OFFER" || rows[2].Event != "COUNTER_OFFER" {
		b.Fatalf("the history is %s", text(rows))
	}
	b.counts("fsm_outbox WHERE state = 'delivered'", 1)
	b.counts("fsm_outbox WHERE version = 3", 1)
	b.counts("fsm_deadlines WHERE version = 3", 1)
	b.counts("fsm_keys", 1)
}

func laterOfOneFails[Tx any](b *bench[Tx]) {
	h := b.deal()
	commits, _, other := b.fronts(h)
	commits[2].Steps[0].From = "NEGOTIATING"
	b.wants(b.save(commits...), store.ErrConflict)
	b.stands(h)
	b.stands(head[Tx]{machine: other.machine, id: other.id})
	b.nothingSeen()
}

// refusedAmongOthers has the database refuse one of three records.
func refusedAmongOthers[Tx any](b *bench[Tx]) {
	h, victim := b.deal(), b.deal()
	commits, _, other := b.fronts(h)
	c, _ := b.commit(victim, deal.SubmitOffer{}, advertiser, epoch)
	r := *c.Steps[0].Record.(*deal.Record)
	r.OwnerID = 99 // which is written once
	c.Steps[0].Record = &r
	for at := range len(commits) + 1 {
		all := append(append(append([]store.Commit{}, commits[:at]...), c), commits[at:]...)
		err := b.save(all...)
		b.wants(err, store.ErrRefused)
		if e := as[*store.RefusedError](b, err); e.ID != victim.id {
			b.Fatalf("refused as number %d, the error is %v", at, e)
		}
		b.stands(h)
		b.stands(victim)
		b.stands(head[Tx]{machine: other.machine, id: other.id})
		b.nothingSeen()
	}
	b.must(b.save(commits...))
}

// nothingSeen fails the test if there is anything that a worker or a caller with a
// key would see.
func (b *bench[Tx]) nothingSeen() {
	b.Helper()
	for _, table := range []string{"fsm_outbox", "fsm_deadlines", "fsm_keys"} {
		b.counts(table, 0)
	}
}
