//go:build unix

package extract_test

import (
	"archive/tar"
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/services/images/extract"
)

// BenchmarkExtract extracts 20,000 files of 256 MiB together, in turn with tar
// on the same disk. What each left is removed and written out before the next
// begins. The time is that of Extract; "of-tar" is the ratio of the medians.
func BenchmarkExtract(b *testing.B) {
	plain := filepath.Join(b.TempDir(), "image.tar")
	if err := writeImage(plain, 20_000, 256<<20); err != nil {
		b.Fatal(err)
	}
	for _, packed := range []struct{ name, program string }{{"plain", "cat"}, {"gzip", "gzip -1"}, {"zstd", "zstd -q"}} {
		file := plain + "." + packed.name
		if out, err := exec.Command("sh", "-c", packed.program+` < "$1" > "$2"`, "sh", plain, file).CombinedOutput(); err != nil {
			b.Fatalf("%s: %v\n%s", packed.program, err, out)
		}
		b.Run(packed.name, func(b *testing.B) {
			b.SetBytes(256 << 20)
			var ours, theirs []time.Duration
			for b.Loop() {
				b.StopTimer()
				theirs = append(theirs, timed(b, func(root string) error { return exec.Command("tar", "-C", root, "-xf", file).Run() }))
				ours = append(ours, timed(b, func(root string) error {
					r, err := os.Open(file)
					if err != nil {
						return err
					}
					defer r.Close()
					b.StartTimer()
					defer b.StopTimer()
					_, err = extract.Extract(b.Context(), r, root, extract.Options{})
					return err
				}))
				b.StartTimer()
			}
			b.ReportMetric(median(ours)/median(theirs), "of-tar")
		})
	}
}

func timed(b *testing.B, extract func(root string) error) time.Duration {
	b.Helper()
	root, err := os.MkdirTemp(b.TempDir(), "root")
	if err != nil {
		b.Fatal(err)
	}
	unix.Sync()
	began := time.Now()
	if err := extract(root); err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	if err := os.RemoveAll(root); err != nil {
		b.Fatal(err)
	}
	return took
}

func median(times []time.Duration) float64 {
	slices.Sort(times)
	return times[len(times)/2].Seconds()
}

// writeImage writes files of differing sizes into 500 directories.
func writeImage(name string, files int, bytes int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	buffered := bufio.NewWriterSize(f, 1<<20)
	w := tar.NewWriter(buffered)
	random := rand.New(rand.NewPCG(1, 2))
	content := make([]byte, 4*bytes/int64(files))
	for i := range content {
		content[i] = "0123456789abcdefghijklmnopqrstuvwxyz \n"[random.IntN(38)]
	}
	for i := range files {
		average := bytes / int64(files)
		size := average/4 + random.Int64N(average*3/2)
		h := tar.Header{Name: fmt.Sprintf("usr/share/d%02d/e%02d/file-%05d", i/2000, i/40%50, i), Mode: 0o644, Size: size, Uid: i % 3}
		if err := w.WriteHeader(&h); err != nil {
			return err
		}
		if _, err := w.Write(content[:size]); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return buffered.Flush()
}
