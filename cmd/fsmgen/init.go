package main

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/cmd/fsmgen/internal/starter"
)

// starting are the flags of init.
type starting struct {
	module  string
	replace string
}

func initCommand(w *world) *cobra.Command {
	var f starting
	cmd := &cobra.Command{
		Use:   "init NAME",
		Short: "Write a first machine that compiles and passes its tests",
		Long: `Init writes spec/NAME.yaml, a small machine to change, and generate.go with the
go:generate line, and compiles them. Outside of a module it also writes a
go.mod that requires fsmgen. It never overwrites a file.`,
		Example: `  fsmgen init order && go test ./...
  fsmgen init order --module example.com/shop
  fsmgen init order --replace ../fsmgen     # with a working tree of fsmgen`,
		Args: cobra.ExactArgs(1),
		RunE: action(func(args []string) error { return w.init(args[0], f) }),
	}
	cmd.Flags().StringVar(&f.module, "module", "", "path of the module to make (default: the folder's name)")
	cmd.Flags().StringVar(&f.replace, "replace", "", "folder with fsmgen itself, for its development")
	return cmd
}

// newFile is a file that init writes.
type newFile struct {
	name string
	data []byte
}

func (w *world) init(name string, f starting) error {
	if err := starter.CheckName(name); err != nil {
		return usageError{err}
	}
	module, err := w.moduleFiles(f)
	if err != nil {
		return err
	}
	files := append(w.starterFiles(name, f, module != nil), module...)
	if err := w.writeNew(files); err != nil {
		return err
	}
	if err := w.generate([]string{defaultDir}, generating{format: formatText}); err != nil {
		return err
	}
	ready := module != nil && w.resolveModules()
	w.nextSteps(name, module != nil, ready || (module == nil && w.hasTool()))
	return nil
}

// starterFiles are the spec and, where it is not there yet, the Go file.
func (w *world) starterFiles(name string, f starting, newModule bool) []newFile {
	files := []newFile{{filepath.Join(defaultDir, name+".yaml"), starter.Machine(name)}}
	if _, err := os.Stat(w.abs(starter.GoFile)); err == nil {
		return files // of an earlier machine; left alone
	}
	pkg := w.packageHere()
	if pkg == "" {
		pkg = starter.PackageName(filepath.Base(w.dir))
		if newModule {
			pkg = starter.PackageName(w.modulePath(f))
		}
	}
	return append(files, newFile{starter.GoFile, starter.GenerateFile(pkg)})
}

// packageHere is the name of the package in the current folder, or "".
func (w *world) packageHere() string {
	names, _ := filepath.Glob(filepath.Join(w.dir, "*.go")) // the pattern is valid
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly)
		if err == nil && !strings.HasSuffix(name, "_test.go") {
			return file.Name.Name
		}
	}
	return ""
}

func (w *world) modulePath(f starting) string {
	if f.module != "" {
		return f.module
	}
	return starter.ModulePath(w.dir)
}

// moduleFiles are go.mod and go.sum; none within a module.
func (w *world) moduleFiles(f starting) ([]newFile, error) {
	if root := w.moduleRoot(); root != "" {
		if f.module != "" || f.replace != "" {
			return nil, usagef("%s is a module already; --module and --replace make a new one", root)
		}
		return nil, nil
	}
	m := starter.Module{Path: w.modulePath(f), Go: goVersion(), Fsmgen: module, Version: buildVersion(), Replace: f.replace}
	if f.replace == "" {
		if m.Version == "(devel)" || strings.Contains(m.Version, "+") {
			return nil, usagef("this fsmgen was built from a working tree, so go.mod can't require its version; add --replace FOLDER-OF-FSMGEN")
		}
		return []newFile{{"go.mod", m.GoMod()}}, nil
	}
	m.Version = "v0.0.0"
	sums, err := os.ReadFile(filepath.Join(w.abs(f.replace), "go.sum"))
	if err != nil {
		return nil, missing(err, f.replace, "--replace names the folder of fsmgen's go.mod")
	}
	return []newFile{{"go.mod", m.GoMod()}, {"go.sum", sums}}, nil
}

// moduleRoot is the folder of the go.mod that rules here, or "".
func (w *world) moduleRoot() string { return moduleAbove(w.dir) }

// moduleAbove is the folder of the go.mod that rules in dir, or "".
func moduleAbove(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// goVersion is the version of Go for a new go.mod: the one that built this
// program, which is at least what the program asks for.
func goVersion() string {
	version, _, _ := strings.Cut(strings.TrimPrefix(runtime.Version(), "go"), " ")
	return version
}

// writeNew writes files that must not exist; none if one of them does.
func (w *world) writeNew(files []newFile) error {
	for _, f := range files {
		if _, err := os.Lstat(w.abs(f.name)); err == nil {
			return fmt.Errorf("%s exists and is not overwritten; choose another name or remove it", filepath.ToSlash(f.name))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(w.abs(f.name)), 0o755); err != nil {
			return err
		}
		out, err := os.OpenFile(w.abs(f.name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = out.Write(f.data)
		if err := errors.Join(err, out.Close()); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
		fmt.Fprintf(w.stdout, "wrote %s\n", filepath.ToSlash(f.name))
	}
	return nil
}

// resolveModules lets the go command add to a new go.mod what the generated
// packages, their tests and the tool import. It reports whether that worked.
func (w *world) resolveModules() bool {
	cmd := exec.Command("go", "list", "-mod=mod", "-deps", "-test", "./...", "tool")
	cmd.Dir = w.dir
	return cmd.Run() == nil
}

func (w *world) nextSteps(name string, newModule, ready bool) {
	var steps [][2]string
	if !newModule && !w.hasTool() {
		steps = append(steps, [2]string{"go get -tool " + module + "/cmd/fsmgen", "so that go generate finds it"})
	}
	if !ready {
		steps = append(steps, [2]string{"go mod tidy", "fetch what the generated code imports"})
	}
	steps = append(steps,
		[2]string{"go test ./...", "the generated tests pass"},
		[2]string{"fsmgen simulate spec/" + name + ".yaml", "walk the machine at the terminal"},
		[2]string{"go generate", "after each change of spec/" + name + ".yaml"},
	)
	fmt.Fprintln(w.stdout, "\nNext:")
	table := tabwriter.NewWriter(w.stdout, 0, 0, 2, ' ', 0)
	for _, step := range steps {
		fmt.Fprintf(table, "  %s\t# %s\n", step[0], step[1])
	}
	table.Flush()
}

// hasTool reports whether the module here has fsmgen as a tool.
func (w *world) hasTool() bool {
	mod, err := os.ReadFile(filepath.Join(w.moduleRoot(), "go.mod"))
	return err == nil && strings.Contains(string(mod), module+"/cmd/fsmgen")
}
