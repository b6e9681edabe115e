package ton_test

import (
	"fmt"
	"testing"

	"github.com/fsmgen/fsmgen/adapters/ton"
)

// BenchmarkWatch measures a round: two blocks have come, and one of the watched addresses got a
// deposit. calls/round are the queries to liteservers; a watcher that asks for every address would
// make as many as there are addresses. first-calls are those of the first round, which does.
func BenchmarkWatch(b *testing.B) {
	for _, addresses := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprintf("open=%d", addresses), func(b *testing.B) {
			n := newNetwork(b, 1)
			list := make([]ton.Address, addresses)
			for i := range list {
				list[i] = deposit(b, uint32(i+1))
			}
			store := newBooks(list...)
			w := watcher(b, n.client, store, nil)
			round(b, w)
			first := n.client.Calls()
			var calls, want uint64
			b.ResetTimer()
			for i := range b.N {
				b.StopTimer()
				n.give(list[i%addresses], coin)
				n.Advance(2)
				want += coin
				before := n.client.Calls()
				b.StartTimer()
				round(b, w)
				calls += n.client.Calls() - before
			}
			b.StopTimer()
			var got uint64
			for _, d := range store.credits {
				got += d.Nano
			}
			if got != want {
				b.Errorf("credited %d, want %d", got, want)
			}
			b.ReportMetric(float64(calls)/float64(b.N), "calls/round")
			b.ReportMetric(float64(first), "first-calls")
		})
	}
}
