package attacks

import (
	"fmt"
	"slices"
	"strings"
)

// tally is a line of the table: what a role got refused in one part of a database.
type tally struct {
	dialect        Dialect
	role           Role
	on             Target
	refused, tried int
}

// tallies sums verdicts up by role and target, in the order of both.
func tallies(list []Verdict) []tally {
	var out []tally
	for _, dialect := range Dialects() {
		for _, role := range []Role{Ordinary, Engine, Service, Operator, Reader, AnyFile} {
			for _, on := range []Target{Record, History, Messages, File} {
				sum := tally{dialect: dialect, role: role, on: on}
				for _, v := range list {
					if v.Dialect != dialect || v.Role != role || v.Attack.On != on {
						continue
					}
					sum.tried++
					if v.Refused {
						sum.refused++
					}
				}
				if sum.tried > 0 {
					out = append(out, sum)
				}
			}
		}
	}
	return out
}

// Report is a line for each database, role and target.
func Report(list []Verdict) []string {
	var out []string
	for _, s := range tallies(list) {
		out = append(out, fmt.Sprintf("attacks: %s, %s, %s: %d of %d are refused", s.dialect, s.role, s.on, s.refused, s.tried))
	}
	return out
}

// Table is the report as Markdown, with what is free and why.
func Table(list []Verdict) string {
	var b strings.Builder
	b.WriteString("| database | role | attacks on | refused |\n|---|---|---|---|\n")
	for _, s := range tallies(list) {
		fmt.Fprintf(&b, "| %s | %s | %s | %d of %d |\n", s.dialect, s.role, s.on, s.refused, s.tried)
	}
	b.WriteString("\nNot refused, by any database where none is named:\n\n")
	var said []string
	for _, v := range list {
		if v.Attack.Free == "" || slices.Contains(said, v.Attack.Name) {
			continue
		}
		said = append(said, v.Attack.Name)
		where := ""
		if slices.ContainsFunc(Dialects(), func(d Dialect) bool { return len(v.Attack.statements(d)) == 0 }) {
			where = " (" + string(v.Dialect) + ")"
		}
		fmt.Fprintf(&b, "- %s%s: %s\n", v.Attack.Name, where, v.Attack.Free)
	}
	return b.String()
}
