package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkBuildGenerated is what Go's compiler takes for the packages of generated/, and for nothing
// that they import: each build adds a file of its own to each package. FSMGEN_TREE names another
// working tree, to compare with.
func BenchmarkBuildGenerated(b *testing.B) {
	tree := os.Getenv("FSMGEN_TREE")
	if tree == "" {
		tree = ".."
	}
	buildGenerated(b, tree) // what they import
	var cpu time.Duration
	for b.Loop() {
		cpu += buildGenerated(b, tree)
	}
	b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/op")
}

// buildGenerated compiles the packages of generated/ again and returns the processor time of it.
func buildGenerated(b *testing.B, tree string) time.Duration {
	b.Helper()
	documented, err := filepath.Glob(tree + "/generated/*/doc.go")
	if err != nil || len(documented) == 0 {
		b.Fatalf("no generated code found: %v", err)
	}
	dir, added := b.TempDir(), map[string]string{}
	for _, path := range documented {
		folder, err := filepath.Abs(filepath.Dir(path))
		if err != nil {
			b.Fatal(err)
		}
		name := filepath.Base(folder)
		file := filepath.Join(dir, name+".go")
		write(b, file, fmt.Appendf(nil, "package %s\n\n// Built at %d.\n", name, time.Now().UnixNano()))
		added[filepath.Join(folder, "added.go")] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": added})
	if err != nil {
		b.Fatal(err)
	}
	write(b, filepath.Join(dir, "overlay.json"), overlay)
	build := exec.Command("go", "build", "-p", "1", "-overlay", filepath.Join(dir, "overlay.json"), "./generated/...")
	build.Dir = tree
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	return build.ProcessState.UserTime() + build.ProcessState.SystemTime()
}

func write(b *testing.B, path string, data []byte) {
	b.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.Fatal(err)
	}
}
