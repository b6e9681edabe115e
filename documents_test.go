package fsmgen_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// page is a page of docs/documents.
type page struct {
	headings []string // without the number that some begin with
	numbers  map[string]bool
	text     string
}

var (
	headingLine = regexp.MustCompile(`(?m)^#{1,6} (?:Document [0-9]+: )?(?:([0-9]+(?:\.[0-9]+)?)\.? )?(.+)$`)
	// mention is a document with what follows it in the sentence.
	mention = regexp.MustCompile(`[Dd]ocument (00[0-9])([^.;)|]*(?:\.[0-9][^.;)|]*)*)`)
	// numbered is what a citation names by its number.
	numbered = regexp.MustCompile(`\bsections? ([0-9](?:\.[0-9])?)`)
	// item is a numbered thing of a section.
	item = regexp.MustCompile(`^(?i:rule|scenario|test case) [0-9]+`)
)

// TestCitations: what comments, specs and docs cite of a design document is a heading of its page.
func TestCitations(t *testing.T) {
	t.Parallel()
	pages := readPages(t)
	cited := 0
	for place, text := range citing(t) {
		for _, m := range mention.FindAllStringSubmatch(text, -1) {
			cited++
			if wrong := pages[m[1]].resolve(m[2]); wrong != "" {
				t.Errorf("%s cites %q of document %s, which has no such heading in docs/documents", place, wrong, m[1])
			}
		}
	}
	if cited < 150 {
		t.Errorf("%d citations were seen: the test looks in the wrong place", cited)
	}
}

// TestFindingsCiteSections: the sections that findings of document 001 name are headings of its page.
func TestFindingsCiteSections(t *testing.T) {
	t.Parallel()
	p := readPages(t)["001"]
	data, err := os.ReadFile("docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`([A-Z][A-Za-z_-]+(?: [A-Za-z_(-][A-Za-z_.)/-]*)+),? [(]?[0-9]{3,4}`)
	cited := 0
	for line := range strings.Lines(string(data)) {
		columns := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| F-001-") || len(columns) < 3 {
			continue
		}
		for _, m := range named.FindAllStringSubmatch(columns[2], -1) {
			cited++
			if !strings.Contains(strings.ToLower(p.text), strings.ToLower(m[1])) {
				t.Errorf("%s cites %q, which the page does not have", strings.TrimPrefix(columns[0], "| "), m[1])
			}
		}
	}
	if cited < 50 {
		t.Errorf("%d sections were seen: the test looks in the wrong place", cited)
	}
}

// TestCitationsBite: a citation of what a page does not have is found.
func TestCitationsBite(t *testing.T) {
	t.Parallel()
	pages := readPages(t)
	for _, tt := range []struct {
		document, rest string
		resolves       bool
	}{
		{"000", ", section 5: deterministic 4xx", true},
		{"000", ", section 6", false},
		{"000", `, section 1 "Upload State Machine", and section 9`, false},
		{"001", ", Timeout Trigger Emission: one", true},
		{"001", ", Timeout Trigger Omission", false},
		{"002", ", Test Case 4", true},
		{"002", ", Test Case 6", false},
		{"003", " lists", true},
		{"004", ", 7.4", true},
		{"004", ", 7.5", false},
	} {
		if wrong := pages[tt.document].resolve(tt.rest); (wrong == "") != tt.resolves {
			t.Errorf("document %s%s: resolved is %v", tt.document, tt.rest, wrong == "")
		}
	}
}

// resolve returns what a citation names and the page does not have. rest is what follows the number
// of the document: ", section N", ", N.N" or ", Heading", and then the sentence goes on. Two words of a
// heading stand for it, and the title is a heading.
func (p page) resolve(rest string) (wrong string) {
	for _, m := range numbered.FindAllStringSubmatch(rest, -1) {
		if !p.numbers[m[1]] {
			return "section " + m[1]
		}
	}
	name, named := strings.CutPrefix(rest, ", ")
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "sections "), "\n")
	name = strings.Trim(name, `"`)
	switch {
	case !named || strings.HasPrefix(name, "section "):
		return ""
	case item.MatchString(name):
		if it := item.FindString(name); !strings.Contains(strings.ToLower(p.text), strings.ToLower(it)+":") &&
			!strings.Contains(strings.ToLower(p.text), strings.ToLower(it)+"**") && !p.isRule(it) {
			return it
		}
		return ""
	case unicode.IsDigit(rune(name[0])):
		number := strings.TrimRight(strings.FieldsFunc(name, func(r rune) bool { return r != '.' && !unicode.IsDigit(r) })[0], ".")
		if !p.numbers[number] {
			return number
		}
		return ""
	case !unicode.IsUpper(rune(name[0])):
		return "" // the sentence goes on, and names no section
	}
	begins, _, _ := strings.Cut(name, ":")
	begins, _, _ = strings.Cut(begins, ",")
	for _, h := range p.headings {
		if strings.HasPrefix(name, h) || strings.HasPrefix(h, begins+" ") && strings.Contains(begins, " ") {
			return ""
		}
	}
	return name
}

// isRule reports whether the page has a list with so many items.
func (p page) isRule(item string) bool {
	number, ok := strings.CutPrefix(item, "rule ")
	return ok && strings.Contains(p.text, "\n"+number+". ")
}

func readPages(t *testing.T) map[string]page {
	t.Helper()
	files, err := filepath.Glob("docs/documents/00?-*.md")
	if err != nil || len(files) != 5 {
		t.Fatalf("the pages are %q, %v", files, err)
	}
	pages := map[string]page{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p := page{numbers: map[string]bool{}, text: string(data)}
		for _, m := range headingLine.FindAllStringSubmatch(p.text, -1) {
			if m[1] != "" {
				p.numbers[m[1]] = true
			}
			p.headings = append(p.headings, m[2])
		}
		pages[filepath.Base(file)[:3]] = p
	}
	return pages
}

// citing returns every text that may cite a document, by its place: comments and strings of Go files,
// specs, alerts and pages.
func citing(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && skipped(d.Name()), file == filepath.Join("docs", "documents"):
			return filepath.SkipDir
		case d.IsDir() || file == "documents_test.go":
			return nil
		}
		switch filepath.Ext(file) {
		case ".go":
			return goTexts(file, texts)
		case ".yaml", ".md":
			data, err := os.ReadFile(file)
			texts[file] = unwrapped(string(data), "#")
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// goTexts adds the comments and the strings of a Go file.
func goTexts(file string, texts map[string]string) error {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	add := func(n ast.Node, text string) { texts[files.Position(n.Pos()).String()] = text }
	for _, group := range f.Comments {
		add(group, unwrapped(group.Text(), ""))
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil {
				add(l, unwrapped(text, ""))
			}
		}
		return true
	})
	return nil
}

// unwrapped joins the lines of a text, without the mark that each begins with.
func unwrapped(text, mark string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		fmt.Fprint(&b, strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), mark)), " ")
	}
	return b.String()
}
