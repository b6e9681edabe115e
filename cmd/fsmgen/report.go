package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/gen/check"
	"github.com/fsmgen/fsmgen/gen/diag"
)

// The formats of diagnostics.
const (
	formatText  = "text"
	formatJSON  = "json"
	formatSARIF = "sarif"
)

// formatFlag adds --format with the given choices, the first as default.
func formatFlag(cmd *cobra.Command, format *string, choices ...string) {
	*format = choices[0]
	cmd.Flags().Var(&choice{format, choices}, "format", "one of "+strings.Join(choices, ", "))
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// choice is a flag that takes one of a few words.
type choice struct {
	value   *string
	choices []string
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return "FORMAT" }
func (c *choice) Set(word string) error {
	for _, known := range c.choices {
		if word == known {
			*c.value = word
			return nil
		}
	}
	return fmt.Errorf("want one of %s", strings.Join(c.choices, ", "))
}

// report writes diagnostics to out.
func (w *world) report(out io.Writer, list *diag.List, src diag.Sources, format string) error {
	var data []byte
	var err error
	switch format {
	case formatJSON:
		data, err = diag.JSON(list)
	case formatSARIF:
		data, err = diag.SARIF(list, check.SARIFRules(), buildVersion())
	default:
		data = diag.Text(list, src, w.colour(out))
	}
	if err == nil {
		_, err = out.Write(data)
	}
	return err
}

// tally counts the diagnostics of a list by severity.
func tally(list *diag.List) (errors, warnings int) {
	for _, d := range list.Sorted() {
		if d.Severity == diag.Error {
			errors++
		} else {
			warnings++
		}
	}
	return errors, warnings
}

// failed reports whether the list makes the command fail.
func failed(list *diag.List, werror bool) bool {
	return list.HasErrors() || (werror && list.Len() > 0)
}

// plural writes "1 spec" and "2 specs".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
