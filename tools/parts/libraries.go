package main

import (
	"os/exec"
	"strings"
)

// libraries are the real parts that run inside the test processes. One that
// go.mod does not require has no line.
func libraries() []library {
	return []library{
		{name: "sqlite", module: "modernc.org/sqlite"},
		{name: "kafka", module: "github.com/twmb/franz-go/pkg/kfake", note: "a fake of the cluster"},
	}
}

// library is a part within the test processes. note tells what it is not.
type library struct{ name, module, note string }

// libraryRows asks the go command which versions the module in root uses.
func libraryRows(root string) []row {
	var rows []row
	for _, l := range libraries() {
		cmd := exec.Command("go", "list", "-m", "-f", "{{.Version}}", l.module)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			continue // not required
		}
		where := "in process"
		if l.note != "" {
			where += ", " + l.note
		}
		rows = append(rows, row{l.name, l.module + " " + strings.TrimSpace(string(out)), where})
	}
	return rows
}
