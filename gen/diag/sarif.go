package diag

import (
	"net/url"
	"path/filepath"
	"strings"
)

// Rule describes a code for tools that show a list of rules.
type Rule struct {
	Code     Code
	Title    string
	Text     string // what the rule demands and why
	Fix      string // an excerpt that obeys the rule
	Severity Severity
}

// The subset of SARIF 2.1.0 that code hosts and editors read.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Version        string      `json:"version,omitempty"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID       string       `json:"id"`
		Short    sarifText    `json:"shortDescription"`
		Full     sarifText    `json:"fullDescription"`
		Help     sarifText    `json:"help"`
		Defaults sarifDefault `json:"defaultConfiguration"`
	}
	sarifDefault struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine"`
		EndColumn   int `json:"endColumn"`
	}
)

// SARIF renders the sorted diagnostics as a SARIF 2.1.0 log of one run.
// Version is that of the tool and may be empty. Codes without a rule refer to
// none (rule index -1).
func SARIF(l *List, rules []Rule, version string) ([]byte, error) {
	index := map[Code]int{}
	driver := sarifDriver{
		Name: "fsmgen", InformationURI: "https://github.com/fsmgen/fsmgen",
		Version: version, Rules: []sarifRule{},
	}
	for i, r := range rules {
		index[r.Code] = i
		driver.Rules = append(driver.Rules, sarifRule{
			ID: string(r.Code), Short: sarifText{r.Title}, Full: sarifText{r.Text}, Help: sarifText{r.Fix},
			Defaults: sarifDefault{r.Severity.String()},
		})
	}
	run := sarifRun{Tool: sarifTool{driver}, ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	for _, d := range l.Sorted() {
		run.Results = append(run.Results, resultOf(d, index))
	}
	return encode(sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0", Runs: []sarifRun{run},
	})
}

func resultOf(d Diagnostic, index map[Code]int) sarifResult {
	at, ok := index[d.Code]
	if !ok {
		at = -1
	}
	text := d.Message
	if d.Help != "" {
		text += "\nhelp: " + d.Help
	}
	return sarifResult{
		RuleID: string(d.Code), RuleIndex: at, Level: d.Severity.String(), Message: sarifText{text},
		Locations: []sarifLocation{{sarifPhysical{
			Artifact: sarifArtifact{fileURI(d.Span.File)}, Region: regionOf(d.Span),
		}}},
	}
}

// fileURI is a relative reference for a relative path, a file URI else.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if strings.HasPrefix(path, "/") {
		return (&url.URL{Scheme: "file", Path: path}).String()
	}
	return (&url.URL{Path: path}).String()
}

// regionOf is nil for a span that points at a whole file: SARIF counts lines
// and columns from 1.
func regionOf(s Span) *sarifRegion {
	if s.Start.Line < 1 {
		return nil
	}
	r := &sarifRegion{s.Start.Line, max(s.Start.Col, 1), s.End.Line, max(s.End.Col, 1)}
	if r.EndLine < r.StartLine {
		r.EndLine, r.EndColumn = r.StartLine, r.StartColumn
	}
	if r.EndLine == r.StartLine {
		r.EndColumn = max(r.EndColumn, r.StartColumn)
	}
	return r
}
