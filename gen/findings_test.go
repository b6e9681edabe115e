package gen_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/check"
	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// docs/findings.md says what the checker answers to a spec that is written as
// its document has it. testdata/findings/*.txt holds such versions, as edits
// of our specs, in this form:
//
//	F-000-1 FSM062 a part of the message
//	@ upload
//	- the text of spec/upload.yaml, verbatim, several lines or a part of one
//	+ the document's version; none removes the text
//
// A version may have several edits, a finding several versions. One without
// edits is what the spec keeps, and accepts if it is a warning. The word silent in place of a code claims that
// the checker says nothing that it does not say of our specs, too.
type version struct {
	id, code, message string
	edits             []edit
}

const (
	silent       = "silent"
	keptWarnings = "## Warnings that stay"
)

type edit struct{ machine, old, text string }

var (
	codePattern = regexp.MustCompile(`FSM\d{3}|GUARD_[A-Z_]+`)
	findingID   = regexp.MustCompile(`F-\d{3}-\d+`)
	acceptBlock = regexp.MustCompile(`(?m)^accept:\n(?:  .*\n)+`)
	tableRow    = regexp.MustCompile(`(?m)^\| (.*) \|$`)
)

func versions(t *testing.T) []version {
	t.Helper()
	var out []version
	for _, file := range glob(t, "testdata/findings/*.txt") {
		for block := range strings.SplitSeq(readFile(t, file), "\n\n") {
			v, err := parseVersion(strings.TrimSpace(block))
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			out = append(out, v)
		}
	}
	return out
}

// parseVersion reads one block of a data file. Lines with # are comments.
func parseVersion(block string) (version, error) {
	var v version
	var machine string
	var last byte // of the line before
	for line := range strings.Lines(block) {
		line = strings.TrimSuffix(line, "\n")
		kind, text := line[0], strings.TrimPrefix(line[1:], " ")
		switch {
		case kind == '#':
		case kind == 'F' && v.id == "":
			v.id, text, _ = strings.Cut(line, " ")
			v.code, v.message, _ = strings.Cut(text, " ")
		case kind == '@':
			machine = text
		case kind == '-' && machine != "" && last == '-':
			v.edits[len(v.edits)-1].old += "\n" + text
		case kind == '-' && machine != "":
			v.edits = append(v.edits, edit{machine: machine, old: text})
		case kind == '+' && last == '-':
			v.edits[len(v.edits)-1].text = text
		case kind == '+' && last == '+':
			v.edits[len(v.edits)-1].text += "\n" + text
		default:
			return version{}, fmt.Errorf("a line that belongs nowhere: %q", line)
		}
		last = kind
	}
	if !findingID.MatchString(v.id) || v.code != silent && !codePattern.MatchString(v.code) {
		return version{}, fmt.Errorf("a block without a first line: %q", block)
	}
	return v, nil
}

// Every version of a document gets the diagnostic that the page names, and our
// specs do not get it.
func TestDocumentsAgainstChecker(t *testing.T) {
	ours := specs(t)
	kept := maps.Clone(ours)
	for machine, text := range kept {
		kept[machine] = acceptBlock.ReplaceAllString(text, "")
	}
	_, list := load(t, sources(kept)...)
	said := list.Sorted()
	for _, v := range versions(t) {
		t.Run(v.id+"/"+v.code, func(t *testing.T) {
			if len(v.edits) == 0 {
				if !slices.ContainsFunc(said, v.names) {
					t.Errorf("the specs without what they accept do not get %s %q", v.code, v.message)
				}
				return
			}
			_, list := load(t, sources(v.apply(t, ours))...)
			fresh := slices.DeleteFunc(list.Sorted(), func(d diag.Diagnostic) bool { return contains(said, d) })
			if v.code == silent && len(fresh) > 0 || v.code != silent && !slices.ContainsFunc(fresh, v.names) {
				t.Errorf("want %s %q, got%s", v.code, v.message, render(fresh))
			}
		})
	}
}

func (v version) names(d diag.Diagnostic) bool {
	return string(d.Code) == v.code && strings.Contains(d.Message, v.message)
}

// apply returns a copy of the specs with the edits of v.
func (v version) apply(t *testing.T, ours map[string]string) map[string]string {
	t.Helper()
	edited := maps.Clone(ours)
	for _, e := range v.edits {
		if n := strings.Count(edited[e.machine], e.old); n != 1 {
			t.Fatalf("spec/%s.yaml has this text %d times instead of once; testdata/findings must follow the spec:\n%s", e.machine, n, e.old)
		}
		edited[e.machine] = strings.Replace(edited[e.machine], e.old, e.text, 1)
	}
	return edited
}

// contains tells whether said has d, be it at another place.
func contains(said []diag.Diagnostic, d diag.Diagnostic) bool {
	return slices.ContainsFunc(said, func(s diag.Diagnostic) bool {
		return s.Code == d.Code && s.Span.File == d.Span.File && s.Message == d.Message
	})
}

func render(list []diag.Diagnostic) string {
	if len(list) == 0 {
		return " nothing"
	}
	var out strings.Builder
	for _, d := range list {
		fmt.Fprintf(&out, "\n  %s: %s [%s]", d.Span, d.Message, d.Code)
	}
	return out.String()
}

// The column Checker and testdata/findings name the same codes for a finding.
func TestFindingsNameTheirCodes(t *testing.T) {
	proven := map[string]map[string]bool{}
	for _, v := range versions(t) {
		if proven[v.id] == nil {
			proven[v.id] = map[string]bool{}
		}
		proven[v.id][v.code] = true
	}
	column := checkerColumn(t)
	for id, text := range column {
		said := proven[id]
		for _, code := range codePattern.FindAllString(text, -1) {
			if !said[code] {
				t.Errorf("%s names %s, and testdata/findings has no version that gets it", id, code)
			}
		}
		if !codePattern.MatchString(text) && !strings.Contains(text, silent) {
			t.Errorf("%s names neither a code nor silence: %q", id, text)
		}
	}
	for id, codes := range proven {
		for code := range codes {
			if !strings.Contains(column[id], code) {
				t.Errorf("testdata/findings has %s for %s, the page says %q", code, id, column[id])
			}
		}
	}
}

// The page explains each code that it names, in the words of the rule.
func TestFindingsExplainTheirCodes(t *testing.T) {
	page := readFile(t, "../docs/findings.md")
	_, list, _ := strings.Cut(page, "\nCodes: ")
	list, warnings, _ := strings.Cut(list, ". ")
	warnings, _, _ = strings.Cut(warnings, "\n")
	_, kept, _ := strings.Cut(page, keptWarnings)
	named := codePattern.FindAllString(strings.Join(slices.Collect(maps.Values(checkerColumn(t))), " ")+kept, -1)
	slices.Sort(named)
	var want []string
	for _, code := range slices.Compact(named) {
		rule, ok := check.RuleOf(diag.Code(code))
		if !ok {
			t.Errorf("no rule has the code %s", code)
		}
		want = append(want, code+" "+rule.Title)
		if strings.Contains(warnings, code) != (rule.Severity == diag.Warning) {
			t.Errorf("%s is of severity %s, the page says %q", code, rule.Severity, warnings)
		}
	}
	if want := strings.Join(want, ", "); list != want {
		t.Errorf("the page explains\n%s\nand names\n%s", list, want)
	}
}

// The section "Warnings that stay" lists the warnings that our specs accept, and
// the checker says nothing else of them: check --werror passes.
func TestWarningsThatStay(t *testing.T) {
	_, section, _ := strings.Cut(readFile(t, "../docs/findings.md"), keptWarnings)
	var listed []string
	for _, cells := range rows(section)[1:] { // without the head
		machine, _, _ := strings.Cut(cells[0], ",")
		listed = append(listed, machine+" "+codePattern.FindString(cells[1]))
	}
	machines, list := load(t, sources(specs(t))...)
	if list.Len() > 0 {
		t.Errorf("the checker says%s", render(list.Sorted()))
	}
	var accepted []string
	for _, m := range machines {
		for _, a := range m.Accepts {
			accepted = append(accepted, m.Text+" "+string(a.Code))
		}
	}
	if !slices.Equal(listed, accepted) {
		t.Errorf("the page lists %v, the specs accept %v", listed, accepted)
	}
}

// A comment of a spec that names a finding names one that exists.
func TestSpecsNameFindings(t *testing.T) {
	column := checkerColumn(t)
	for machine, text := range specs(t) {
		for _, id := range findingID.FindAllString(text, -1) {
			if _, ok := column[id]; !ok {
				t.Errorf("spec/%s.yaml names %s, which docs/findings.md does not have", machine, id)
			}
		}
	}
}

// checkerColumn returns the column Checker of every finding by its id, and
// fails on an id that occurs twice.
func checkerColumn(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, cells := range rows(readFile(t, "../docs/findings.md")) {
		if !findingID.MatchString(cells[0]) {
			continue
		}
		if _, twice := out[cells[0]]; twice || len(cells) != 5 {
			t.Fatalf("the row of %s has %d columns, or the id occurs twice", cells[0], len(cells))
		}
		out[cells[0]] = cells[3]
	}
	return out
}

// rows returns the cells of every table row of a Markdown text.
func rows(text string) [][]string {
	var out [][]string
	for _, m := range tableRow.FindAllStringSubmatch(text, -1) {
		out = append(out, strings.Split(m[1], " | "))
	}
	return out
}

// specs returns the text of every spec by the name of its machine.
// load is gen.Load, without a fault of the compiler.
func load(t *testing.T, sources ...gen.Source) ([]*ir.Machine, *diag.List) {
	t.Helper()
	machines, list, err := gen.Load(sources)
	if err != nil {
		t.Fatal(err)
	}
	return machines, list
}

func specs(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, file := range glob(t, "../spec/*.yaml") {
		out[strings.TrimSuffix(filepath.Base(file), ".yaml")] = readFile(t, file)
	}
	return out
}

func sources(specs map[string]string) []gen.Source {
	var out []gen.Source
	for _, machine := range slices.Sorted(maps.Keys(specs)) {
		out = append(out, gen.Source{Path: machine + ".yaml", Data: []byte(specs[machine])})
	}
	return out
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: found %d files, %v", pattern, len(files), err)
	}
	return files
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
