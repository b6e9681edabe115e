package check

import (
	"embed"

	"github.com/fsmgen/fsmgen/gen/diag"
)

// Rule describes one code: what `fsmgen explain CODE`, the rules of a SARIF
// log and the documentation show.
type Rule struct {
	Code     diag.Code
	Severity diag.Severity
	Title    string // what is wrong, in a few words
	Text     string // what the rule demands, and why
	Fix      string // an excerpt of a spec that obeys it
}

// Rules lists every code of the compiler in order: those of parsing and
// lowering, those of this package, those of guards.
func Rules() []Rule {
	var all []Rule
	for _, family := range [][]Rule{shapeRules(), limitRules(), nameRules(), contractRules(), rowRules(), firedRules(), effectRules(), invariantRules(), orderRules(), valueRules(), tableRules(), acceptRules(), metricRules(), guardRules()} {
		all = append(all, family...)
	}
	return all
}

// RuleOf returns the rule of a code.
func RuleOf(code diag.Code) (Rule, bool) {
	for _, r := range Rules() {
		if r.Code == code {
			return r, true
		}
	}
	return Rule{}, false
}

// SARIFRules is [Rules] as a SARIF log wants them.
func SARIFRules() []diag.Rule {
	var out []diag.Rule
	for _, r := range Rules() {
		out = append(out, diag.Rule{Code: r.Code, Title: r.Title, Text: r.Text, Fix: r.Fix, Severity: r.Severity})
	}
	return out
}

//go:embed testdata/*.yaml
var examples embed.FS

// Example returns a machine, often a part of one, that breaks the rule, or ""
// for an unknown code.
func Example(code diag.Code) string {
	data, err := examples.ReadFile("testdata/" + string(code) + ".yaml")
	if err != nil {
		return ""
	}
	return string(data)
}

func fails(code diag.Code, title, text, fix string) Rule {
	return Rule{code, diag.Error, title, text, fix}
}

func warns(code, title, text, fix string) Rule {
	return Rule{diag.Code(code), diag.Warning, title, text, fix}
}
