package storetest

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func reads[Tx any]() []storeCase[Tx] {
	return []storeCase[Tx]{
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

// read reads from the machine of h.
func (f *Fixture[Tx]) read(h Versioned, r store.Read) store.Page {
	f.Helper()
	if h.id != "" {
		q := f.query(h, store.Query{})
		r.ID, r.IDValue = q.ID, q.IDValue
	}
	r.Machine, r.Tables, r.Blank = h.machine.Name(), h.machine.Tables(), h.machine.Blank
	page, err := f.Store.Read(f.Context(), r)
	f.Must(err)
	return page
}

func readRecord[Tx any](f *Fixture[Tx]) {
	f.deal()
	h := f.deal()
	page := f.read(h, store.Read{Kind: store.ReadRecord, Limit: 1})
	if len(page.Records) != 1 || page.Records[0].Version != 1 || !page.Records[0].EnteredAt.Equal(StartTime) || Text(page.Records[0].Record) != Text(h.record) {
		f.Fatalf("it found %s", Text(page))
	}
}

func readNothing[Tx any](f *Fixture[Tx]) {
	for _, kind := range []store.ReadKind{store.ReadRecord, store.ReadRecords, store.ReadHistory, store.ReadDeadLetters, store.ReadMessage} {
		page := f.read(f.new(f.Deals), store.Read{Kind: kind, MessageID: UUID(7).String(), Limit: 10})
		if len(page.Records)+len(page.History)+len(page.Messages) != 0 {
			f.Errorf("%s finds %s", kind, Text(page))
		}
	}
}

// readPages lists records of one state in pages of three.
func readPages[Tx any](f *Fixture[Tx]) {
	var all, drafts []string
	for i := range 10 {
		h := f.deal()
		all = append(all, h.id)
		if i%3 == 0 {
			f.saveEvent(h, deal.SubmitOffer{}, Advertiser)
		} else {
			drafts = append(drafts, h.id)
		}
	}
	for state, want := range map[string][]string{"": all, "DRAFT": drafts, "EXPIRED": nil} {
		var got []string
		r := store.Read{Kind: store.ReadRecords, State: state, Limit: 3}
		for {
			page := f.read(Versioned{machine: f.Deals}, r)
			if len(page.Records) > r.Limit {
				f.Fatalf("a page has %d records", len(page.Records))
			}
			for _, row := range page.Records {
				got = append(got, row.Record.(*deal.Record).DealID.String())
			}
			if len(page.Records) < r.Limit {
				break
			}
			r.After, _ = f.Deals.ParseID(got[len(got)-1])
		}
		if !slices.Equal(got, want) {
			f.Errorf("in state %q: %v\nwant %v", state, got, want)
		}
	}
}

func readHistory[Tx any](f *Fixture[Tx]) {
	h := f.funded()
	var got []int64
	for after := int64(0); ; {
		page := f.read(h, store.Read{Kind: store.ReadHistory, AfterVersion: after, Limit: 2})
		for _, row := range page.History {
			got = append(got, row.Version)
			after = row.Version
		}
		if len(page.History) < 2 {
			break
		}
	}
	if !slices.Equal(got, []int64{1, 2, 3, 4, 5}) {
		f.Fatalf("versions %v", got)
	}
}

// deadLetters returns the message ids of the listed dead letters.
func (f *Fixture[Tx]) deadLetters(r store.Read) []string {
	f.Helper()
	r.Kind, r.Limit = store.ReadDeadLetters, 100
	page, err := f.Store.Read(f.Context(), r)
	f.Must(err)
	ids := []string{}
	for _, l := range page.Messages {
		ids = append(ids, l.MessageID)
	}
	return ids
}

func readDeadLetters[Tx any](f *Fixture[Tx]) {
	h, w, other := f.deal(), f.walRecord("s3://a"), f.deal()
	first := f.deadLetter(h, 1, "kafka").MessageID
	second := f.deadLetter(w, 2, "kafka").MessageID
	third := f.deadLetter(other, 3, "kafka").MessageID
	later := f.Message(other, 4, "ton")
	later.Effect, later.CreatedAt = "release_funds", StartTime.Add(time.Microsecond)
	f.addEffect("deal", "ton", "release_funds")
	fourth := f.deadLetterOf(other, later, "50% of 'it' is gone").MessageID
	for name, tt := range map[string]struct {
		filter store.Filter
		want   []string
	}{
		"all":         {store.Filter{}, []string{first, second, third, fourth}},
		"deal":        {store.Filter{Machine: "deal"}, []string{first, third, fourth}},
		"record":      {store.Filter{Machine: "deal", Record: other.id}, []string{third, fourth}},
		"effect":      {store.Filter{Effect: "release_funds"}, []string{fourth}},
		"destination": {store.Filter{Destination: "kafka"}, []string{first, second, third}},
		"error":       {store.Filter{Error: "50% of 'it'"}, []string{fourth}},
		"case":        {store.Filter{Error: "Gave"}, []string{}},
		"pattern":     {store.Filter{Error: "g_ve"}, []string{}},
		"age":         {store.Filter{Before: StartTime.Add(time.Microsecond)}, []string{first, second, third}},
		"everything":  {store.Filter{Machine: "deal", Record: h.id, Effect: "notify_owner", Destination: "kafka", Error: "gave", Before: StartTime.Add(1000)}, []string{first}},
		"none":        {store.Filter{Machine: "upload"}, []string{}},
	} {
		if got := f.deadLetters(store.Read{Filter: tt.filter}); !slices.Equal(got, tt.want) {
			f.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	page, err := f.Store.Read(f.Context(), store.Read{Kind: store.ReadDeadLetters, Limit: 2})
	f.Must(err)
	if len(page.Messages) != 2 {
		f.Errorf("a page of 2 has %d", len(page.Messages))
	}
	// Cancelled work is not listed.
	c := f.EmptyCommit(h)
	work := f.work(h, 4, "ton")
	c.Outbox = []store.OutboxMessage{work}
	f.Must(f.Save(c))
	task := f.claimAll(901, StartTime)[0]
	f.Must(f.settle(outcome(task, store.MessageState{State: "dead_letter"})))
	c.Outbox, c.CancelWork = nil, true
	f.Must(f.Save(c))
	if got := f.deadLetters(store.Read{}); slices.Contains(got, work.MessageID) {
		f.Errorf("cancelled work is listed: %v", got)
	}
}

// readDeadLetterPages lists messages in pages of two. Several differ only in their ids,
// and others are resolved meanwhile.
func readDeadLetterPages[Tx any](f *Fixture[Tx]) {
	var want []string
	for range 5 {
		want = append(want, f.deadLetter(f.deal(), 1, "kafka").MessageID)
	}
	for seq := range 2 {
		want = append(want, f.deadLetter(f.funded(), seq+1, "kafka").MessageID)
	}
	var got []string
	r := store.Read{Kind: store.ReadDeadLetters, Filter: store.Filter{Machine: "deal"}, Limit: 2}
	for {
		page, err := f.Store.Read(f.Context(), r)
		f.Must(err)
		if len(page.Messages) > r.Limit {
			f.Fatalf("a page has %d messages", len(page.Messages))
		}
		if len(page.Messages) == 0 {
			break
		}
		for _, row := range page.Messages {
			got = append(got, row.MessageID)
			r.AfterMessage = &row
			f.Must(f.settle(byOperator(row, store.MessageState{State: "pending", AvailableAt: fsm.Some(StartTime), LastError: row.LastError, Resolution: "ann: fixed"})))
		}
	}
	if !slices.Equal(got, want) {
		f.Errorf("%v\nwant %v", got, want)
	}
}

func readCorrupt[Tx any](f *Fixture[Tx]) {
	before, h, after := f.deal(), f.deal(), f.deal()
	f.Corrupt(h.machine, h.id)
	page := f.read(Versioned{machine: f.Deals}, store.Read{Kind: store.ReadRecords, Limit: 10})
	if len(page.Records) != 3 {
		f.Fatalf("the page has %d records", len(page.Records))
	}
	e := As[*store.CorruptError](f, page.Records[1].Err)
	if e.Machine != "deal" || e.ID != h.id || page.Records[1].Record != nil {
		f.Fatalf("the error says %v", e)
	}
	if s := As[*fsm.StateError](f, e); s.State != "nowhere" {
		f.Fatalf("the state is %q", s.State)
	}
	f.wantStored(before)
	f.wantStored(after)
	if page := f.read(h, store.Read{Kind: store.ReadRecord, Limit: 1}); len(page.Records) != 1 || page.Records[0].Err == nil {
		f.Fatalf("it found %s", Text(page))
	}
}

func loadCorrupt[Tx any](f *Fixture[Tx]) {
	h, other := f.deal(), f.deal()
	f.Corrupt(h.machine, h.id)
	row := f.load(h, store.Query{})
	if e := As[*store.CorruptError](f, row.Err); e.ID != h.id || row.Record != nil {
		f.Fatalf("the row is %+v", row)
	}
	if s := As[*fsm.StateError](f, row.Err); s.State != "nowhere" {
		f.Fatalf("the state is %q", s.State)
	}
	f.wantStored(other)
}

// readBesideWrite reads while a transaction is open. The read sees the record before the
// transaction.
func readBesideWrite[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c, next := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) error {
		f.Must(f.Store.Save(f.Context(), tx, []store.Commit{c}))
		page := f.read(h, store.Read{Kind: store.ReadRecord, Limit: 1})
		if len(page.Records) != 1 || page.Records[0].Version != 1 {
			f.Errorf("it found %s", Text(page))
		}
		return nil
	}))
	f.wantStored(next)
}

// readUnknown counts messages and deadlines of another version of a machine. Those that
// are not due, or of a machine that the read does not name, do not count.
func readUnknown[Tx any](f *Fixture[Tx]) {
	h, other, w := f.deal(), f.deal(), f.walRecord("s3://a")
	for _, r := range []Versioned{h, other, w} {
		f.send(r, f.Message(r, 1, "kafka"))
	}
	f.send(other, f.Message(other, 2, "ton"))
	arm := f.EmptyCommit(other)
	arm.SetDeadlines = []store.Deadline{{
		Machine: "deal", RecordID: other.id, Kind: store.DeadlineTimeout, Version: other.version, DueAt: StartTime.Add(time.Hour),
		Event: fsm.Event{Name: "RETIRE", Payload: []byte("{}")},
	}}
	f.Must(f.Save(arm))
	ask := func(now time.Time, effects, events []string) []store.UnknownWork {
		page, err := f.Store.Read(f.Context(), store.Read{
			Kind: store.ReadUnknown, Now: now, Limit: 10,
			Destinations: []store.Destination{{Machine: "deal", Name: "kafka", Effects: effects, States: h.machine.States()}},
			Events:       []store.Events{{Machine: "deal", Names: events, States: h.machine.States()}},
		})
		f.Must(err)
		return page.Unknown
	}
	if u := ask(StartTime, []string{"notify_owner"}, []string{"EXPIRE"}); len(u) != 0 {
		f.Errorf("of what is known it finds %s", Text(u))
	}
	got := ask(StartTime.Add(time.Hour), []string{"deal.events"}, []string{"EXPIRE"})
	want := []store.UnknownWork{
		{Kind: store.TaskDeadline, Machine: "deal", Name: "RETIRE", Record: other.id, Count: 1},
		{Kind: store.TaskEffect, Machine: "deal", Name: "notify_owner", Record: min(h.id, other.id), Count: 3},
	}
	if Text(got) != Text(want) {
		f.Errorf("it finds %s\nwant %s", Text(got), Text(want))
	}
}
