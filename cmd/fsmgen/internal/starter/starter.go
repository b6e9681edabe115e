package starter

import (
	"bytes"
	_ "embed" // the template of the spec
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/gen/naming"
)

// GoFile is the file with the go:generate line.
const GoFile = "generate.go"

// placeholder stands for the machine's name in [machine].
const placeholder = "NAME"

//go:embed NAME.yaml
var machine string

var machineName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// CheckName says why name can't name a machine: it is also the name of a
// file and of a Go package.
func CheckName(name string) error {
	switch {
	case !machineName.MatchString(name):
		return fmt.Errorf("%q can't name a machine: use lower case letters, digits and _, a letter first, such as order", name)
	case naming.IsGoKeyword(name) || name == "main" || name == "init":
		return fmt.Errorf("%q is a word of Go and can't name a package: choose another, such as %s_item", name, name)
	}
	return nil
}

// Machine returns the spec of a small machine.
func Machine(name string) []byte {
	return []byte(strings.ReplaceAll(machine, placeholder, name))
}

// GenerateFile returns the Go file that regenerates the machines.
func GenerateFile(pkg string) []byte {
	doc := "Package " + pkg + " holds"
	if pkg == "main" {
		doc = "This module holds"
	}
	return fmt.Appendf(nil, `// %s the machines of spec/, compiled into generated/.
package %s

//go:generate go tool fsmgen generate
`, doc, pkg)
}

// PackageName turns the last part of a module path into a package name.
func PackageName(module string) string {
	last := module[strings.LastIndex(module, "/")+1:]
	var b strings.Builder
	for _, r := range strings.ToLower(last) {
		if r >= 'a' && r <= 'z' || (r >= '0' && r <= '9' && b.Len() > 0) {
			b.WriteRune(r)
		}
	}
	if b.Len() == 0 || naming.IsGoKeyword(b.String()) {
		return "machines"
	}
	return b.String()
}

var notInPath = regexp.MustCompile(`[^A-Za-z0-9._~-]+`)

// ModulePath turns the name of a folder into a module path.
func ModulePath(dir string) string {
	if path := strings.Trim(notInPath.ReplaceAllString(filepath.Base(dir), "-"), "-."); path != "" {
		return path
	}
	return "machines"
}

// Module is what a new go.mod says.
type Module struct {
	Path    string // of the new module
	Go      string // version of the language, 1.26.0
	Fsmgen  string // import path of fsmgen
	Version string // of fsmgen
	Replace string // folder that stands for fsmgen; "": none
}

// GoMod returns a go.mod that has fsmgen as a dependency and as a tool.
func (m Module) GoMod() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "module %s\n\ngo %s\n\ntool %s/cmd/fsmgen\n\nrequire %s %s\n", m.Path, m.Go, m.Fsmgen, m.Fsmgen, m.Version)
	if m.Replace != "" {
		fmt.Fprintf(&b, "\nreplace %s => %s\n", m.Fsmgen, quote(m.Replace))
	}
	return b.Bytes()
}

// quote writes a path as go.mod wants it.
func quote(path string) string {
	path = filepath.ToSlash(path)
	if !filepath.IsAbs(path) && !strings.HasPrefix(path, "./") && !strings.HasPrefix(path, "../") {
		path = "./" + path
	}
	if strings.ContainsAny(path, " \"'`()[]{},") || strings.Contains(path, "//") {
		return strconv.Quote(path)
	}
	return path
}
