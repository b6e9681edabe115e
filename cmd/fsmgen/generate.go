package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/cmd/fsmgen/internal/output"
	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

// module is the import path of the runtime that generated code uses.
const module = "github.com/fsmgen/fsmgen"

// schemaFile stands next to the specs; their modeline names it.
const schemaFile = "fsmgen.schema.json"

// defaultOut is the folder of the generated packages.
const defaultOut = "generated"

// generating are the flags of generate.
type generating struct {
	out    string
	check  bool
	quiet  bool
	werror bool
	format string
}

func generateCommand(w *world) *cobra.Command {
	var g generating
	cmd := &cobra.Command{
		Use:   "generate [DIR|FILE...]",
		Short: "Compile the specs into one package per machine",
		Long: `Generate compiles the specs of a folder (default: spec/, here or in a folder
above) into generated/ beside it, one package per machine, and keeps the JSON
Schema of the language next to the specs.

Nothing is written unless every spec compiles. Files are replaced atomically;
a file that is right already is not touched. A file that a removed machine
left behind is removed only if it carries the header "` + output.Header + `".
When files are named, only their machines are written; the rest of the folder
is compiled with them but left alone.`,
		Example: `  fsmgen generate
  fsmgen generate --check                   # in CI: fail if the output is stale
  fsmgen generate design/spec --out internal/machines
  //go:generate go tool fsmgen generate     # in a Go file of the module`,
		ValidArgsFunction: specFiles,
		RunE:              action(func(args []string) error { return w.generate(args, g) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&g.out, "out", "", "folder of the generated packages (default generated/ in this folder, or beside a spec/ found above)")
	flags.BoolVar(&g.check, "check", false, "write nothing; fail if the output on disk is stale")
	flags.BoolVar(&g.quiet, "quiet", false, "say nothing unless something is wrong")
	flags.BoolVar(&g.werror, "werror", false, "treat warnings as errors")
	formatFlag(cmd, &g.format, formatText, formatJSON, formatSARIF)
	return cmd
}

func (w *world) generate(args []string, g generating) error {
	s, err := w.loadOne(args)
	if err != nil {
		return err
	}
	out := w.outDir(s, args, g.out)
	unreached, err := readUnreached(s.dir)
	if err != nil {
		return err
	}
	done := w.progress(g.quiet, "compiling "+plural(len(s.files), "spec"))
	result, list, err := gen.Compile(s.files, gen.Options{
		Module: module, Specs: specsFrom(out, s.dir), Packages: packagesIn(out), Unreached: unreached,
	})
	done()
	if err != nil {
		return fmt.Errorf("%w; this is a fault of the program itself, please report it", err)
	}
	namedTests(s.dir, result.Machines, list)
	if err := w.reportCompiled(s, list, g); err != nil {
		return err
	}
	plans, err := w.compare(s, out, result.Files)
	if err != nil {
		return err
	}
	if g.check {
		return w.refuseStale(plans, len(result.Machines), g)
	}
	for _, p := range plans {
		if err := p.Apply(); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	w.sayWritten(plans, len(result.Machines), g)
	return nil
}

// readUnreached reads what the folder of the specs lists, if it does.
func readUnreached(dir string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, gen.UnreachedFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read what the proofs do not reach: %w", err)
	}
	return gen.Unreached(text), nil
}

// outDir resolves --out. Its default stands beside spec/, which the current
// folder or one above it has.
func (w *world) outDir(s *specs, args []string, out string) string {
	switch {
	case out != "":
		return w.abs(out)
	case len(args) == 0:
		return filepath.Join(filepath.Dir(s.dir), defaultOut)
	}
	return w.abs(defaultOut)
}

// specsFrom is the way from a generated package to the specs.
func specsFrom(out, specs string) string {
	rel, err := filepath.Rel(filepath.Join(out, "machine"), specs)
	if err != nil {
		return filepath.ToSlash(specs) // on another volume
	}
	return filepath.ToSlash(rel)
}

// packagesIn is the import path of a folder, "" if it is in no module.
func packagesIn(folder string) string {
	root := moduleAbove(folder)
	if root == "" {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	rel, outside := filepath.Rel(root, folder)
	name := moduleLine.FindSubmatch(text)
	if err != nil || outside != nil || name == nil {
		return ""
	}
	return path.Join(string(name[1]), filepath.ToSlash(rel))
}

// moduleLine is where a go.mod says which module it is.
var moduleLine = regexp.MustCompile("(?m)^module[ \t]+[\"`]?([^\"`\\s]+)")

// progress shows what is being done, on a terminal only, until the returned
// function is called.
func (w *world) progress(quiet bool, what string) (done func()) {
	if quiet || !isTerminal(w.stderr) {
		return func() {}
	}
	fmt.Fprintf(w.stderr, "%s ...", what)
	return func() { fmt.Fprint(w.stderr, "\r\x1b[K") }
}

// reportCompiled shows the diagnostics and fails if they stop compilation.
// Text goes where a compiler's messages go, data to the standard output.
func (w *world) reportCompiled(s *specs, list *diag.List, g generating) error {
	out := w.stdout
	if g.format == formatText {
		out = w.stderr
	}
	if err := w.report(out, list, s.excerpts(), g.format); err != nil {
		return err
	}
	if !failed(list, g.werror) {
		return nil
	}
	if g.format == formatText {
		fmt.Fprintf(w.stderr, "%s; nothing was written\n", summary(list, len(s.files)))
	}
	return errReported
}

// compare plans both folders that generate writes: the packages and the
// schema next to the specs.
func (w *world) compare(s *specs, out string, files []gen.File) ([]output.Plan, error) {
	owns := func(string) bool { return true }
	if s.asked != nil {
		owns = s.ownsPackage
		files = slices.DeleteFunc(files, func(f gen.File) bool { return !owns(f.Path) })
	}
	packages, err := output.Compare(output.Folder{Dir: out, Files: files, Owns: owns})
	if err != nil {
		return nil, err
	}
	data, err := syntax.JSONSchema()
	if err != nil {
		return nil, err
	}
	schema, err := output.Compare(output.Folder{Dir: s.dir, Files: []gen.File{{Path: schemaFile, Data: data}}})
	if err != nil {
		return nil, err
	}
	return []output.Plan{packages, schema}, nil
}

// ownsPackage reports whether a path of the output belongs to a machine that
// the user asked for. File name = machine name = package name.
func (s *specs) ownsPackage(file string) bool {
	for asked := range s.asked {
		machine := strings.TrimSuffix(path.Base(asked), path.Ext(asked))
		if strings.HasPrefix(file, machine+"/") {
			return true
		}
	}
	return false
}

// refuseStale fails if there is anything to do.
func (w *world) refuseStale(plans []output.Plan, machines int, g generating) error {
	stale := 0
	for _, p := range plans {
		for _, c := range p.Changes {
			fmt.Fprintf(w.stderr, "%s: %s\n", path.Join(w.shown(p.Dir), c.Path), c.Kind)
			stale++
		}
	}
	if stale > 0 {
		fmt.Fprintf(w.stderr, "%s not current\n  help: run fsmgen generate, then commit what it wrote\n", isAre(stale))
		return errReported
	}
	if !g.quiet && g.format == formatText {
		fmt.Fprintf(w.stdout, "%s: the output is current\n", plural(machines, "machine"))
	}
	return nil
}

func isAre(n int) string {
	if n == 1 {
		return "1 file is"
	}
	return fmt.Sprintf("%d files are", n)
}

func (w *world) sayWritten(plans []output.Plan, machines int, g generating) {
	if g.quiet || g.format != formatText {
		return
	}
	written, removed, unchanged := 0, 0, 0
	for _, p := range plans {
		removed += p.Count(output.Left)
		written += len(p.Changes) - p.Count(output.Left)
		unchanged += p.Unchanged
	}
	fmt.Fprintf(w.stdout, "%s: %s written, %d unchanged, %d removed\n", plural(machines, "machine"), plural(written, "file"), unchanged, removed)
}
