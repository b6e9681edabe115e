package bench

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// BenchmarkImagesMany brings many small images to their snapshots, sixteen at a
// time. An image has three records. "engine-share" is the part of the time of
// workers that no handler has: claiming, deciding, storing, and waiting for the
// database, which takes one writer at a time.
func BenchmarkImagesMany(b *testing.B) {
	const atOnce = 16
	count := sized(1000, 40)
	bucket := b.TempDir()
	for i := range count {
		must(b, writeImage(filepath.Join(bucket, "images", fmt.Sprintf("%d.tar", i)), 4, 16<<10))
	}
	var took, handlers, effects time.Duration
	for b.Loop() {
		b.StopTimer()
		took += atRest(b, func(dir string) {
			b.StartTimer()
			p := newPipeline(b, bucket, dir, atOnce)
			p.processAll(count, atOnce)
			p.close()
			b.StopTimer()
			effects += p.effects
			for _, h := range p.handlers {
				handlers += h
			}
		})
		b.StartTimer()
	}
	b.ReportMetric(float64(3*count*b.N)/took.Seconds(), "records/s")
	b.ReportMetric(float64(count*b.N)/took.Seconds(), "images/s")
	b.ReportMetric(1-handlers.Seconds()/effects.Seconds(), "engine-share")
}

// processAll asks for all images, so many at a time.
func (p *pipeline) processAll(count, atOnce int) {
	p.b.Helper()
	keys := make(chan string)
	var callers sync.WaitGroup
	for range atOnce {
		callers.Go(func() {
			for key := range keys {
				p.process(key)
			}
		})
	}
	for i := range count {
		keys <- fmt.Sprintf("%d.tar", i)
	}
	close(keys)
	callers.Wait()
}
