package output

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen"
)

const ours = "// " + Header + " from spec/a.yaml; DO NOT EDIT.\n"

func file(path, text string) gen.File { return gen.File{Path: path, Data: []byte(text)} }

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tree lists the files below dir with their text.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(at string, e os.DirEntry, err error) error {
		if err != nil || at == dir {
			return err
		}
		name, _ := filepath.Rel(dir, at)
		if e.IsDir() {
			out[name+"/"] = ""
			return nil
		}
		data, err := os.ReadFile(at)
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func everything(string) bool { return true }

func apply(t *testing.T, f Folder) Plan {
	t.Helper()
	plan, err := Compare(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(); err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestApplyWritesReplacesAndRemoves(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	apply(t, Folder{dir, []gen.File{file("a/a.go", ours+"1"), file("b/b.go", ours)}, everything})
	write(t, dir, "b/notes.txt", "mine")
	write(t, dir, "c/c.go", ours)
	write(t, dir, "mine.go", "package mine // quotes it later\n\n\n\n\n\n"+ours)

	plan := apply(t, Folder{dir, []gen.File{file("a/a.go", ours+"2"), file("a/new.go", ours)}, everything})
	if plan.Count(Missing) != 1 || plan.Count(Stale) != 1 || plan.Count(Left) != 2 || plan.Unchanged != 0 {
		t.Errorf("got %+v", plan.Changes)
	}
	got := tree(t, dir)
	want := map[string]string{"a/": "", "a/a.go": ours + "2", "a/new.go": ours, "b/": "", "b/notes.txt": "mine", "mine.go": got["mine.go"]}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: got %q, want %q", name, got[name], text)
		}
	}
}

// TestForeignFilesAreNotRemoved: what fsmgen removes has a name that it gives, and its
// header in the first line.
func TestForeignFilesAreNotRemoved(t *testing.T) {
	own := []string{"a/old.go", "a/postgres.sql", "a/diagram.mmd", "a/README.md", "a/.old.go." + strings.Repeat("A", 26)}
	foreign := map[string]string{
		"a/second_line.go": "// mine\n" + ours,
		"a/blank_line.go":  "\n" + ours,
		"a/quotes.go":      "// I wonder what // " + Header + " from spec/a.yaml; DO NOT EDIT. means\n",
		"a/longer.go":      strings.TrimSuffix(ours, "\n") + " Or do.\n",
		"a/code.go":        "var s = `" + Header + " from spec/a.yaml; DO NOT EDIT.`\n",
		"a/notes.txt":      ours,
		"a/deep/old.go":    ours,
		"a/Makefile":       ours,
		".git/old.go.lock": ours,
	}
	dir := t.TempDir()
	for _, name := range own {
		write(t, dir, name, ours)
	}
	for name, text := range foreign {
		write(t, dir, name, text)
	}
	target := filepath.Join(t.TempDir(), "target.go")
	if err := errors.Join(os.WriteFile(target, []byte(ours), 0o644), os.Symlink(target, filepath.Join(dir, "a", "link.go"))); err != nil {
		t.Fatal(err)
	}
	apply(t, Folder{dir, []gen.File{file("a/new.go", ours)}, everything})
	got := tree(t, dir)
	for _, name := range own {
		if _, there := got[filepath.FromSlash(name)]; there {
			t.Errorf("%s is left", name)
		}
	}
	for name, text := range foreign {
		if got[filepath.FromSlash(name)] != text {
			t.Errorf("%s is gone", name)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "a", "link.go")); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(target); err != nil || string(data) != ours {
		t.Errorf("what the link points to is %q, %v", data, err)
	}
}

func TestUnchangedFilesKeepTheirTime(t *testing.T) {
	dir := t.TempDir()
	f := Folder{dir, []gen.File{file("a.go", ours)}, everything}
	apply(t, f)
	before := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(dir, "a.go"), before, before); err != nil {
		t.Fatal(err)
	}
	if plan := apply(t, f); plan.Unchanged != 1 || len(plan.Changes) != 0 {
		t.Errorf("got %+v", plan)
	}
	info, err := os.Stat(filepath.Join(dir, "a.go"))
	if err != nil || !info.ModTime().Equal(before) {
		t.Errorf("modified at %v (%v)", info.ModTime(), err)
	}
}

func TestForeignFilesAreNotReplaced(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "README.md", "by hand")
	write(t, dir, "data.json", "{}")
	_, err := Compare(Folder{dir, []gen.File{file("README.md", ours)}, everything})
	var foreign *ForeignError
	if !errors.As(err, &foreign) || !strings.Contains(err.Error(), "README.md") {
		t.Errorf("got %v", err)
	}
	// A format without comments has no header to look for.
	if _, err := Compare(Folder{dir, []gen.File{file("data.json", "[]")}, nil}); err != nil {
		t.Error(err)
	}
}

func TestOnlyOwnedFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a/old.go", ours)
	write(t, dir, "b/old.go", ours)
	apply(t, Folder{dir, nil, func(p string) bool { return strings.HasPrefix(p, "a/") }})
	if got := tree(t, dir); len(got) != 2 || got["b/old.go"] != ours {
		t.Errorf("got %v", got)
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, "a.go", ours)
	dir := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "pkg")); err != nil {
		t.Fatal(err)
	}
	if _, err := Compare(Folder{dir, []gen.File{file("pkg/a.go", ours+"new")}, everything}); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("got %v", err)
	}
	apply(t, Folder{dir, []gen.File{file("b.go", ours)}, everything})
	if got := tree(t, outside); got["a.go"] != ours {
		t.Errorf("outside is now %v", got)
	}
}

func TestFailedWriteChangesNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.go", ours)
	write(t, dir, "old.go", ours)
	plan, err := Compare(Folder{dir, []gen.File{file("a.go", ours+"new"), file("z/z.go", ours)}, everything})
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "z", "a file where a folder belongs")
	if err := plan.Apply(); err == nil {
		t.Fatal("no error")
	}
	if got := tree(t, dir); len(got) != 3 || got["a.go"] != ours || got["old.go"] != ours {
		t.Errorf("got %v", got)
	}
}
