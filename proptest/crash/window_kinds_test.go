package crash

import (
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/proptest/crash/scenarios"
)

// TestKinds compares the derived kinds with lists that were written by hand from the
// tables.
func TestKinds(t *testing.T) {
	for _, tt := range []struct {
		group []string
		want  []Kind
	}{
		{[]string{"upload"}, []Kind{Create, Fire, Deadline, Deliver, Retry, DeadLetter, Requeue, Idempotent, Keyed, InTx}},
		{[]string{"publish"}, []Kind{Create, Fire, Deliver, Retry, DeadLetter, Requeue, Keyed, InTx}},
		{[]string{"outbox"}, []Kind{Create, Fire, Deadline, InTx}},
		{[]string{"gc"}, []Kind{Create, Fire, Deliver, Retry, DeadLetter, Requeue, Idempotent, InTx}},
		{[]string{"registration"}, []Kind{Create, Fire, Chain, Answer, Deadline, Deliver, Retry, DeadLetter, Requeue, Idempotent}},
		{[]string{"wal"}, []Kind{Create, Fire, Chain, Deadline, Deliver, Retry, DeadLetter, Requeue, Idempotent, InTx}},
		{[]string{"deal", "transfer"}, []Kind{Create, Fire, Answer, Deadline, Deliver, Retry, DeadLetter, Requeue, Idempotent, Keyed, InTx}},
		{[]string{"transfer", "deal"}, []Kind{Started, Fire, Answer, Deadline, Deliver, Retry, DeadLetter, Requeue, Idempotent, Keyed, InTx}},
		{[]string{"download", "unpack", "activate"}, []Kind{Create, Chain, Answer, Deliver, Retry, DeadLetter, Requeue, Idempotent, Cleanup}},
		{[]string{"unpack", "activate", "download"}, []Kind{Started, Answer, Deadline, Deliver, Retry, DeadLetter, Requeue, Idempotent, Queryable, AtMostOnce, Cleanup}},
		{[]string{"activate", "unpack", "download"}, []Kind{Started, Answer, Chain, Deliver, Retry, DeadLetter, Requeue, Idempotent, Queryable}},
	} {
		c, err := scenarios.Load("../../spec", tt.group...)
		if err != nil {
			t.Fatal(err)
		}
		got := kindsOf(c)
		slices.Sort(got)
		slices.Sort(tt.want)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s has to pass %v, want %v", tt.group[0], got, tt.want)
		}
	}
}
