package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// BenchmarkBacklog measures what waits beside so many dead letters, with as many messages
// behind them.
func BenchmarkBacklog(b *testing.B) {
	for _, count := range []int{0, 1000, 100_000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			d := openDatabase(b)
			s := d.migrated(b)
			d.deadLetters(b, count)
			d.exec(b, "VACUUM (ANALYZE) fsm_outbox")
			c := claim(1, 16)
			for b.Loop() {
				q := store.Read{Kind: store.ReadBacklog, Now: epoch.Add(time.Hour), Destinations: c.Destinations, Events: c.Events, Limit: 100_000}
				page, err := s.Read(context.Background(), q)
				must(b, err)
				if count > 0 && len(page.Backlog) == 0 {
					b.Fatal("nothing waits")
				}
			}
		})
	}
}
