package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/gen/check"
	"github.com/fsmgen/fsmgen/gen/diag"
)

func explainCommand(w *world) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Explain a diagnostic code, or list them all",
		Example: `  fsmgen explain FSM003
  fsmgen explain`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return codes(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: action(func(args []string) error {
			if len(args) == 0 {
				return w.listCodes()
			}
			return w.explain(strings.ToUpper(args[0]))
		}),
	}
}

func codes() []string {
	var out []string
	for _, r := range check.Rules() {
		out = append(out, string(r.Code))
	}
	return out
}

func (w *world) listCodes() error {
	table := tabwriter.NewWriter(w.stdout, 0, 0, 2, ' ', 0)
	for _, r := range check.Rules() {
		fmt.Fprintf(table, "%s\t%s\t%s\n", r.Code, r.Severity, r.Title)
	}
	return table.Flush()
}

func (w *world) explain(code string) error {
	r, ok := check.RuleOf(diag.Code(code))
	if !ok {
		help := "fsmgen explain lists them"
		if near := diag.Nearest(code, codes()); near != "" {
			help = "did you mean " + near + "?"
		}
		return usagef("there is no code %s; %s", code, help)
	}
	fmt.Fprintf(w.stdout, "%s (%s): %s\n\n%s\n", r.Code, r.Severity, r.Title, r.Text)
	fmt.Fprintf(w.stdout, "\nThis is right:\n\n%s\n", indent(r.Fix))
	if bad := check.Example(r.Code); bad != "" {
		if first, rest, _ := strings.Cut(bad, "\n"); strings.HasPrefix(first, "# want: ") {
			bad = rest // the mark is for the tests of the checker
		}
		fmt.Fprintf(w.stdout, "\nThis is not:\n\n%s\n", indent(bad))
	}
	return nil
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}
