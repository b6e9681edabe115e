package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func reads[Tx any]() []test[Tx] {
	return []test[Tx]{
		{"WorkThatIsNotKnownIsCounted", readUnknown[Tx]},
		{"TheBacklogIsCounted", readBacklog[Tx]},
		{"ARecordIsFoundByItsID", readRecord[Tx]},
		{"NothingFoundIsAnEmptyPage", readNothing[Tx]},
		{"RecordsComeInPages", readPages[Tx]},
		{"HistoryComesInPages", readHistory[Tx]},
		{"DeadLettersCanBeNarrowed", readDeadLetters[Tx]},
		{"DeadLettersComeInPages", readDeadLetterPages[Tx]},
		{"ACorruptRecordIsNamedAndTheOthersAreRead", readCorrupt[Tx]},
		{"ACorruptRecordIsLoadedAsAnError", loadCorrupt[Tx]},
		{"AReadWaitsForNoTransaction", readBesideWrite[Tx]},
	}
}

// read asks about h's machine.
func (b *bench[Tx]) read(h head[Tx], r store.Read) store.Page {
	b.Helper()
	if h.id != "" {
		q := b.query(h, store.Query{})
		r.ID, r.IDValue = q.ID, q.IDValue
	}
	r.Machine, r.Tables, r.Blank = h.machine.Name(), h.machine.Tables(), h.machine.Blank
	page, err := b.Store.Read(b.ctx, r)
	b.must(err)
	return page
}

func readRecord[Tx any](b *bench[Tx]) {
	b.deal()
	h := b.deal()
	page := b.read(h, store.Read{Kind: store.ReadRecord, Limit: 1})
	if len(page.Records) != 1 || page.Records[0].Version != 1 || !page.Records[0].EnteredAt.Equal(epoch) || text(page.Records[0].Record) != text(h.record) {
		b.Fatalf("it found %s", text(page))
	}
}

func readNothing[Tx any](b *bench[Tx]) {
	for _, kind := range []store.ReadKind{store.ReadRecord, store.ReadRecords, store.ReadHistory, store.ReadDeadLetters, store.ReadMessage} {
		page := b.read(b.new(b.deals), store.Read{Kind: kind, MessageID: uuid(7).String(), Limit: 10})
		if len(page.Records)+len(page.History)+len(page.Messages) != 0 {
			b.Errorf("%s finds %s", kind, text(page))
		}
	}
}

// readPages lists records of one state, three at a time.
func readPages[Tx any](b *bench[Tx]) {
	var all, drafts []string
	for i := range 10 {
		h := b.deal()
		all = append(all, h.id)
		if i%3 == 0 {
			b.fire(h, deal.SubmitOffer{}, advertiser)
		} else {
			drafts = append(drafts, h.id)
		}
	}
	for state, want := range map[string][]string{"": all, "DRAFT": drafts, "EXPIRED": nil} {
		var got []string
		r := store.Read{Kind: store.ReadRecords, State: state, Limit: 3}
		for {
			page := b.read(head[Tx]{machine: b.deals}, r)
			if len(page.Records) > r.Limit {
				b.Fatalf("a page has %d records", len(page.Records))
			}
			for _, row := range page.Records {
				got = append(got, row.Record.(*deal.Record).DealID.String())
			}
			if len(page.Records) < r.Limit {
				break
			}
			r.After, _ = b.deals.ParseID(got[len(got)-1])
		}
		if !slices.Equal(got, want) {
			b.Errorf("in state %q: %v\nwant %v", state, got, want)
		}
	}
}

func readHistory[Tx any](b *bench[Tx]) {
	h := b.funded()
	var got []int64
	for after := int64(0); ; {
		page := b.read(h, store.Read{Kind: store.ReadHistory, AfterVersion: after, Limit: 2})
		for _, row := range page.History {
			got = append(got, row.Version)
			after = row.Version
		}
		if len(page.History) < 2 {
			break
		}
	}
	if !slices.Equal(got, []int64{1, 2, 3, 4, 5}) {
		b.Fatalf("versions %v", got)
	}
}

// deadLetters returns the message ids that are listed.
func (b *bench[Tx]) deadLetters(r store.Read) []string {
	b.Helper()
	r.Kind, r.Limit = store.ReadDeadLetters, 100
	page, err := b.Store.Read(b.ctx, r)
	b.must(err)
	ids := []string{}
	for _, l := range page.Messages {
		ids = append(ids, l.MessageID)
	}
	return ids
}

func readDeadLetters[Tx any](b *bench[Tx]) {
	h, w, other := b.deal(), b.walRecord("s3://a"), b.deal()
	first := b.dead(h, 1, "kafka").MessageID
	second := b.dead(w, 2, "kafka").MessageID
	third := b.dead(other, 3, "kafka").MessageID
	later := b.message(other, 4, "ton")
	later.Effect, later.CreatedAt = "release_funds", epoch.Add(time.Microsecond)
	b.know("deal", "ton", "release_funds")
	fourth := b.buried(other, later, "50% of 'it' is gone").MessageID
	for name, tt := range map[string]struct {
		filter store.Filter
		want   []string
	}{
		"all":        {store.Filter{}, []string{first, second, third, fourth}},
		"deal":       {store.Filter{Machine: "deal"}, []string{first, third, fourth}},
		"record":     {store.Filter{Machine: "deal", Record: other.id}, []string{third, fourth}},
		"effect":     {store.Filter{Effect: "release_funds"}, []string{fourth}},
		"lane":       {store.Filter{Destination: "kafka"}, []string{first, second, third}},
		"error":      {store.Filter{Error: "50% of 'it'"}, []string{fourth}},
		"case":       {store.Filter{Error: "Gave"}, []string{}},
		"pattern":    {store.Filter{Error: "g_ve"}, []string{}},
		"age":        {store.Filter{Before: epoch.Add(time.Microsecond)}, []string{first, second, third}},
		"everything": {store.Filter{Machine: "deal", Record: h.id, Effect: "notify_owner", Destination: "kafka", Error: "gave", Before: epoch.Add(1000)}, []string{first}},
		"none":       {store.Filter{Machine: "upload"}, []string{}},
	} {
		if got := b.deadLetters(store.Read{Filter: tt.filter}); !slices.Equal(got, tt.want) {
			b.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	page, err := b.Store.Read(b.ctx, store.Read{Kind: store.ReadDeadLetters, Limit: 2})
	b.must(err)
	if len(page.Messages) != 2 {
		b.Errorf("a page of 2 has %d", len(page.Messages))
	}
	// Work whose state was left is of no interest any more.
	c := b.about(h)
	work := b.work(h, 4, "ton")
	c.Outbox = []store.OutboxMessage{work}
	b.must(b.save(c))
	task := b.claims(901, epoch)[0]
	b.must(b.settle(outcome(task, store.MessageState{State: "dead_letter"})))
	c.Outbox, c.CancelWork = nil, true
	b.must(b.save(c))
	if got := b.deadLetters(store.Read{}); slices.Contains(got, work.MessageID) {
		b.Errorf("cancelled work is listed: %v", got)
	}
}

// readDeadLetterPages lists messages of which several differ in their ids alone, two
// at a time, while others are resolved.
func readDeadLetterPages[Tx any](b *bench[Tx]) {
	var want []string
	for range 5 {
		want = append(want, b.dead(b.deal(), 1, "kafka").MessageID)
	}
	for seq := range 2 {
		want = append(want, b.dead(b.funded(), seq+1, "kafka").MessageID)
	}
	var got []string
	r := store.Read{Kind: store.ReadDeadLetters, Filter: store.Filter{Machine: "deal"}, Limit: 2}
	for {
		page, err := b.Store.Read(b.ctx, r)
		b.must(err)
		if len(page.Messages) > r.Limit {
			b.Fatalf("a page has %d messages", len(page.Messages))
		}
		if len(page.Messages) == 0 {
			break
		}
		for _, row := range page.Messages {
			got = append(got, row.MessageID)
			r.AfterMessage = &row
			b.must(b.settle(person(row, store.MessageState{State: "pending", AvailableAt: fsm.Some(epoch), LastError: row.LastError, Resolution: "ann: fixed"})))
		}
	}
	if !slices.Equal(got, want) {
		b.Errorf("%v\nwant %v", got, want)
	}
}

// corrupt breaks the state of a record.
func (b *bench[Tx]) corrupt(h head[Tx]) {
	b.Helper()
	t := h.machine.Tables()
	b.Vandalise(b.T, t.Record, fmt.Sprintf("UPDATE %s SET %s = 'nowhere' WHERE %s = '%s'", t.Record, t.State, t.ID, h.id))
}

func readCorrupt[Tx any](b *bench[Tx]) {
	before, h, after := b.deal(), b.deal(), b.deal()
	b.corrupt(h)
	page := b.read(head[Tx]{machine: b.deals}, store.Read{Kind: store.ReadRecords, Limit: 10})
	if len(page.Records) != 3 {
		b.Fatalf("the page has %d records", len(page.Records))
	}
	e := as[*store.CorruptError](b, page.Records[1].Err)
	if e.Machine != "deal" || e.ID != h.id || page.Records[1].Record != nil {
		b.Fatalf("the error says %v", e)
	}
	if s := as[*fsm.StateError](b, e); s.State != "nowhere" {
		b.Fatalf("the state is %q", s.State)
	}
	b.stands(before)
	b.stands(after)
	if page := b.read(h, store.Read{Kind: store.ReadRecord, Limit: 1}); len(page.Records) != 1 || page.Records[0].Err == nil {
		b.Fatalf("it found %s", text(page))
	}
}

func loadCorrupt[Tx any](b *bench[Tx]) {
	h, other := b.deal(), b.deal()
	b.corrupt(h)
	row := b.load(h, store.Query{})
	if e := as[*store.CorruptError](b, row.Err); e.ID != h.id || row.Record != nil {
		b.Fatalf("the row is %+v", row)
	}
	if s := as[*fsm.StateError](b, row.Err); s.State != "nowhere" {
		b.Fatalf("the state is %q", s.State)
	}
	b.stands(other)
}

// readBesideWrite reads from within a transaction that has not committed: the
// read sees what was there before.
func readBesideWrite[Tx any](b *bench[Tx]) {
	h := b.deal()
	c, next := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	b.must(b.Store.InTx(b.ctx, func(tx Tx) error {
		b.must(b.Store.Save(b.ctx, tx, []store.Commit{c}))
		page := b.read(h, store.Read{Kind: store.ReadRecord, Limit: 1})
		if len(page.Records) != 1 || page.Records[0].Version != 1 {
			b.Errorf("it found %s", text(page))
		}
		return nil
	}))
	b.stands(next)
}

// readUnknown counts messages and deadlines of another version of a machine. What is
// not due, or is of a machine that is not asked about, does not count.
func readUnknown[Tx any](b *bench[Tx]) {
	h, other, w := b.deal(), b.deal(), b.walRecord("s3://a")
	for _, r := range []head[Tx]{h, other, w} {
		b.send(r, b.message(r, 1, "kafka"))
	}
	b.send(other, b.message(other, 2, "ton"))
	arm := b.about(other)
	arm.SetDeadlines = []store.Deadline{{
		Machine: "deal", RecordID: other.id, Kind: store.DeadlineTimeout, Version: other.version, DueAt: epoch.Add(time.Hour),
		Event: fsm.Event{Name: "RETIRE", Payload: []byte("{}")},
	}}
	b.must(b.save(arm))
	ask := func(now time.Time, effects, events []string) []store.UnknownWork {
		page, err := b.Store.Read(b.ctx, store.Read{
			Kind: store.ReadUnknown, Now: now, Limit: 10,
			Destinations: []store.Destination{{Machine: "deal", Name: "kafka", Effects: effects, States: h.machine.States()}},
			Events:       []store.Events{{Machine: "deal", Names: events, States: h.machine.States()}},
		})
		b.must(err)
		return page.Unknown
	}
	if u := ask(epoch, []string{"notify_owner"}, []string{"EXPIRE"}); len(u) != 0 {
		b.Errorf("of what is known it finds %s", text(u))
	}
	got := ask(epoch.Add(time.Hour), []string{"deal.events"}, []string{"EXPIRE"})
	want := []store.UnknownWork{
		{Kind: store.TaskDeadline, Machine: "deal", Name: "RETIRE", Record: other.id, Count: 1},
		{Kind: store.TaskEffect, Machine: "deal", Name: "notify_owner", Record: min(h.id, other.id), Count: 3},
	}
	if text(got) != text(want) {
		b.Errorf("it finds %s\nwant %s", text(got), text(want))
	}
}
