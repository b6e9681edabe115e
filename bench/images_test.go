package bench

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/adapters/directory"
	"github.com/fsmgen/fsmgen/adapters/s3"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/services/images"
)

// BenchmarkImagesPipeline brings one image from a bucket that is a directory to
// its snapshot, in turn with what a script would do with the same object: cp,
// sha256sum and tar -x, one after another, three times. Between the turns what was
// made is removed and the disk is at rest. The script keeps nothing safe from a power cut
// and makes no snapshot; "of-script-synced" compares with the same script and a
// sync after cp and after tar, as the pipeline does.
func BenchmarkImagesPipeline(b *testing.B) {
	files, megabytes := sized(20_000, 400), sized(1024, 8)
	b.Run(fmt.Sprintf("MiB=%d", megabytes), func(b *testing.B) {
		bucket := b.TempDir()
		object := filepath.Join(bucket, "images", "image.tar")
		must(b, writeImage(object, files, int64(megabytes)<<20))
		const turnsOfOne = 3
		b.SetBytes(turnsOfOne * int64(megabytes) << 20)
		var turns pipelineTurns
		for b.Loop() {
			b.StopTimer()
			for range turnsOfOne {
				turns.take(b, bucket, object)
			}
			b.StartTimer()
		}
		turns.report(b)
	})
}

type pipelineTurns struct {
	script, synced, ours []time.Duration
	handlers             []map[string]time.Duration
}

// take takes one turn of each, beginning with another one each time. The
// benchmark's time is that of the pipeline.
func (t *pipelineTurns) take(b *testing.B, bucket, object string) {
	b.Helper()
	competitors := []func(){
		func() { t.script = append(t.script, atRest(b, func(dir string) { script(b, object, dir, false) })) },
		func() { t.synced = append(t.synced, atRest(b, func(dir string) { script(b, object, dir, true) })) },
		func() { t.ours = append(t.ours, atRest(b, func(dir string) { t.run(b, bucket, dir) })) },
	}
	first := len(t.ours) % len(competitors)
	for i := range competitors {
		competitors[(first+i)%len(competitors)]()
	}
}

func (t *pipelineTurns) run(b *testing.B, bucket, dir string) {
	b.Helper()
	b.StartTimer()
	p := newPipeline(b, bucket, dir, 0)
	p.process("image.tar")
	p.close()
	b.StopTimer()
	t.handlers = append(t.handlers, p.handlers)
}

func (t *pipelineTurns) report(b *testing.B) {
	ours := middle(t.ours)
	b.ReportMetric(ours/middle(t.script), "of-script")
	b.ReportMetric(ours/middle(t.synced), "of-script-synced")
	b.ReportMetric(middle(t.script), "script-s")
	b.ReportMetric(middle(t.synced), "script-synced-s")
	b.ReportMetric(ours, "pipeline-s")
	for name, unit := range map[string]string{
		"download_object": "download-s", "validate_file": "validate-s", "extract_layers": "extract-s",
		"unmount_device": "unmount-s", "create_snapshot": "snapshot-s",
	} {
		var times []time.Duration
		for _, h := range t.handlers {
			times = append(times, h[name])
		}
		b.ReportMetric(middle(times), unit)
	}
}

func middle(times []time.Duration) float64 {
	slices.Sort(times)
	return times[len(times)/2].Seconds()
}

// atRest times f in a folder of its own, on a disk that has nothing to write.
func atRest(b *testing.B, f func(dir string)) time.Duration {
	b.Helper()
	dir, err := os.MkdirTemp(b.TempDir(), "turn")
	must(b, err)
	unix.Sync()
	began := time.Now()
	f(dir)
	took := time.Since(began)
	must(b, os.RemoveAll(dir))
	return took
}

// script is what one would write instead.
func script(b *testing.B, object, dir string, synced bool) {
	b.Helper()
	text := `set -e; mkdir root; cp "$1" image.tar; sha256sum image.tar > sum; tar -C root -xf image.tar`
	if synced {
		text = `set -e; mkdir root; cp "$1" image.tar; sync image.tar; sha256sum image.tar > sum; tar -C root -xf image.tar; sync -f root`
	}
	c := exec.Command("sh", "-c", text, "sh", object)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
}

// pipeline is an image service at work in a folder.
type pipeline struct {
	b       *testing.B
	service *images.Service
	stop    context.CancelFunc
	ended   chan error

	mu       sync.Mutex
	handlers map[string]time.Duration // in which the service's own hands worked, by effect
	effects  time.Duration            // in which a worker was at an effect, the handler included
}

func newPipeline(b *testing.B, bucket, dir string, parallel int) *pipeline {
	b.Helper()
	p := &pipeline{b: b, ended: make(chan error, 1), handlers: map[string]time.Duration{}}
	var err error
	p.service, err = images.Open(context.Background(), images.Options{
		Dir: filepath.Join(dir, "state"), Objects: s3.Directory{Root: bucket}, Parallel: parallel,
		Volumes: func(context.Context, images.Numbers) (images.Volumes, error) {
			return directory.New(directory.Config{Root: filepath.Join(dir, "volumes")})
		},
		Logger: slog.New(slog.DiscardHandler),
		Engine: func(c *engine.Config) { c.Trace = p.trace },
	})
	must(b, err)
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	go func() { p.ended <- p.service.Run(ctx) }()
	return p
}

// trace adds up how long handlers, and effects as a whole, take.
func (p *pipeline) trace(ctx context.Context, op engine.Operation) (context.Context, func(error)) {
	began := time.Now()
	return ctx, func(error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch op.Kind {
		case engine.OpHandle:
			p.handlers[op.Name] += time.Since(began)
		case engine.OpEffect:
			p.effects += time.Since(began)
		}
	}
}

func (p *pipeline) process(key string) {
	p.b.Helper()
	_, err := p.service.Process(context.Background(), "images", key)
	must(p.b, err)
}

func (p *pipeline) close() {
	p.b.Helper()
	p.stop()
	must(p.b, <-p.ended)
	must(p.b, p.service.Close())
}
