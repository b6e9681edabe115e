package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// row is one line of the summary.
type row struct {
	name    string
	version string
	what    string
}

// partRows says for each known part what became of it.
func partRows(known []part, outcomes []outcome) []row {
	byName := make(map[string]outcome, len(outcomes))
	for _, o := range outcomes {
		byName[o.name] = o
	}
	rows := make([]row, 0, len(known))
	for _, p := range known {
		o, wanted := byName[p.name()]
		rows = append(rows, partRow(p.name(), o, wanted))
	}
	return rows
}

func partRow(name string, o outcome, wanted bool) row {
	switch {
	case !wanted:
		return row{name, "-", "not asked for"}
	case o.dispensable() != nil:
		return row{name, "-", o.dispensable().instead + ": " + firstLine(o.err)}
	case o.running == nil:
		return row{name, "-", "COULD NOT BE HAD: " + firstLine(o.err)}
	case o.err != nil:
		return row{name, o.running.version, "FAILED: " + firstLine(o.err)}
	}
	return row{name, o.running.version, o.running.where}
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func printSummary(w io.Writer, rows []row) {
	fmt.Fprintln(w, "real parts:")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(table, "  %s\t%s\t%s\n", r.name, r.version, r.what)
	}
	table.Flush()
}

// printCounts prints what the tests counted, sorted; nothing where no test
// counted anything.
func printCounts(w io.Writer, path string) error {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read the tests' counts: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	slices.Sort(lines)
	fmt.Fprintln(w, "proofs:")
	for _, line := range slices.Compact(lines) {
		fmt.Fprintln(w, "  "+line)
	}
	return nil
}
