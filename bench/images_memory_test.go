package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkImagesMemory runs the command, as a process of its own, on a small
// image and on a large one. "MiB-over-idle" is the largest resident set of the
// process, less that of a process that opens the same folder and does nothing.
func BenchmarkImagesMemory(b *testing.B) {
	command := filepath.Join(b.TempDir(), "images")
	build := exec.Command("go", "build", "-o", command, "./services/images/cmd/images")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for _, megabytes := range []int{sized(64, 8), sized(1024, 32)} {
		b.Run(fmt.Sprintf("MiB=%d", megabytes), func(b *testing.B) {
			dir := b.TempDir()
			must(b, writeImage(filepath.Join(dir, "bucket", "images", "image.tar"), 20*megabytes, int64(megabytes)<<20))
			var idle, most int64
			for b.Loop() {
				must(b, os.RemoveAll(filepath.Join(dir, "volumes")))
				must(b, os.RemoveAll(filepath.Join(dir, "images.db")))
				idle = max(idle, resident(b, true, command, "--dir", dir, "daemon"))
				most = max(most, resident(b, false, command, "--dir", dir, "process-image", "--s3-key", "image.tar"))
			}
			b.ReportMetric(float64(most-idle)/(1<<20), "MiB-over-idle")
			b.ReportMetric(float64(idle)/(1<<20), "MiB-idle")
		})
	}
}

// resident runs a command and returns the largest resident set that it had a
// moment before its end, which comes by itself, or once it is idle.
func resident(b *testing.B, idle bool, name string, arguments ...string) (most int64) {
	b.Helper()
	const idling = 300 * time.Millisecond
	c := exec.Command(name, arguments...)
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	must(b, c.Start())
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	var enough <-chan time.Time
	if idle {
		enough = time.After(idling)
	}
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				b.Fatalf("%v\n%s", err, out.String())
			}
			return most
		case <-enough:
			must(b, c.Process.Signal(syscall.SIGTERM))
		case <-look.C:
			most = max(most, highWater(c.Process.Pid))
		}
	}
}

// highWater is VmHWM of a process, 0 of one that has ended.
func highWater(pid int) (bytes int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	_, _ = fmt.Sscanf(rest, "%d kB", &bytes) // a process that ends has none
	return bytes << 10
}
