package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/diag"
)

// specs are the spec files of one folder. Machines of a folder refer to each
// other, so they are always loaded together.
type specs struct {
	dir   string // absolute
	files []gen.Source
	// asked names the files that the user named, as Source.Path; nil: the
	// whole folder.
	asked map[string]bool
	// unread says why some file of the folder could not be read.
	unread error
}

// maxRead is well above what the parser accepts: it, not we, says that a
// file is too large.
const maxRead = 64 << 20

// defaultDir is where specs are unless an argument says where.
const defaultDir = "spec"

// findSpecs returns the folder spec/ of the current folder or of the nearest
// one above it, up to the root of the module. That makes `fsmgen generate`
// work wherever a //go:generate line stands.
func (w *world) findSpecs() (string, error) {
	for dir := w.dir; ; dir = filepath.Dir(dir) {
		at := filepath.Join(dir, defaultDir)
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			return w.shown(at), nil
		}
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil || dir == filepath.Dir(dir) {
			return "", usagef("there is no folder spec/ here; name the folder of the specs, or run: fsmgen init NAME")
		}
	}
}

// shown is how messages name a path: relative to the current folder, unless
// that is longer.
func (w *world) shown(path string) string {
	if rel, err := filepath.Rel(w.dir, path); err == nil && len(rel) < len(path) {
		path = rel
	}
	return filepath.ToSlash(path)
}

// load reads the specs that args name, one group for each folder: folders
// whole, files with their siblings.
func (w *world) load(args []string) ([]*specs, error) {
	if len(args) == 0 {
		dir, err := w.findSpecs()
		if err != nil {
			return nil, err
		}
		args = []string{dir}
	}
	var groups []*specs
	for _, arg := range args {
		info, err := os.Stat(w.abs(arg))
		if err != nil {
			return nil, missing(err, arg, "name a spec file or a folder of them")
		}
		dir := arg
		if !info.IsDir() {
			dir = filepath.Dir(arg)
		}
		at := slices.IndexFunc(groups, func(g *specs) bool { return g.dir == w.abs(dir) })
		if at < 0 {
			at = len(groups)
			groups = append(groups, &specs{dir: w.abs(dir), asked: map[string]bool{}})
			if err := groups[at].readFolder(dir); err != nil {
				return nil, err
			}
		}
		if err := groups[at].ask(w.abs(arg), arg, info.IsDir()); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// loadOne is load for commands that work on one folder.
func (w *world) loadOne(args []string) (*specs, error) {
	groups, err := w.load(args)
	if err != nil {
		return nil, err
	}
	if len(groups) > 1 {
		return nil, usagef("the specs of one run stand in one folder, not in %s and %s", w.shown(groups[0].dir), w.shown(groups[1].dir))
	}
	return groups[0], nil
}

// readFolder reads every spec of the folder; shown is its name in messages.
// What cannot be read is left out: ask reports it if it was named, or the whole
// folder was.
func (s *specs) readFolder(shown string) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); (ext != ".yaml" && ext != ".yml") || strings.HasPrefix(e.Name(), ".") || e.IsDir() {
			continue
		}
		path := filepath.ToSlash(filepath.Join(shown, e.Name()))
		data, err := readSpec(filepath.Join(s.dir, e.Name()))
		if err != nil {
			s.unread = errors.Join(s.unread, fmt.Errorf("read %s: %w", path, reason(err)))
			continue
		}
		s.files = append(s.files, gen.Source{Path: path, Data: data})
	}
	return nil
}

// ask marks what the user named. A file with another extension than .yaml
// joins the folder's specs.
func (s *specs) ask(abs, shown string, folder bool) error {
	if folder {
		s.asked = nil
		if s.unread != nil {
			return s.unread
		}
		if len(s.files) == 0 {
			return usagef("%s has no spec (*.yaml); write one, or run: fsmgen init NAME", shown)
		}
		return nil
	}
	data, err := readSpec(abs)
	if err != nil {
		return err
	}
	path := filepath.ToSlash(filepath.Clean(shown))
	if !slices.ContainsFunc(s.files, func(f gen.Source) bool { return f.Path == path }) {
		s.files = append(s.files, gen.Source{Path: path, Data: data})
	}
	if s.asked != nil {
		s.asked[path] = true
	}
	return nil
}

// reason is what err says beside the path.
func reason(err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return at.Err
	}
	return err
}

func readSpec(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, usageError{&fs.PathError{Op: "read", Path: path, Err: errors.New("not a file")}}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRead))
	if err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	return data, nil
}

// wants reports whether the user asked about the file.
func (s *specs) wants(path string) bool { return s.asked == nil || s.asked[path] }

// own returns the diagnostics of the files that the user asked about.
func (s *specs) own(all *diag.List) *diag.List {
	own := &diag.List{}
	for _, d := range all.Sorted() {
		switch {
		case !s.wants(d.Span.File):
		case d.Severity == diag.Warning:
			own.Warnf(d.Code, d.Span, d.Help, "%s", d.Message)
		default:
			own.Errorf(d.Code, d.Span, d.Help, "%s", d.Message)
		}
	}
	return own
}

// count returns how many files the user asked about.
func (s *specs) count() int {
	if s.asked == nil {
		return len(s.files)
	}
	return len(s.asked)
}

// excerpts are the sources for the renderer of diagnostics.
func (s *specs) excerpts() diag.Sources {
	out := diag.Sources{}
	for _, f := range s.files {
		out[f.Path] = f.Data
	}
	return out
}
