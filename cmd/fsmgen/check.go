package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/diag"
)

func checkCommand(w *world) *cobra.Command {
	var format string
	var werror bool
	cmd := &cobra.Command{
		Use:   "check [FILE|DIR]...",
		Short: "Report every problem of the specs and write nothing",
		Long: `Check reports every problem of the specs, sorted by place, and writes no file.

Specs of one folder may refer to each other, so a file is checked together
with its siblings; only its own problems are shown. Without an argument it
checks the folder spec/, here or in a folder above.`,
		Example: `  fsmgen check
  fsmgen check spec/order.yaml
  fsmgen check --format sarif spec > fsmgen.sarif`,
		ValidArgsFunction: specFiles,
		RunE:              action(func(args []string) error { return w.check(args, format, werror) }),
	}
	formatFlag(cmd, &format, formatText, formatJSON, formatSARIF)
	cmd.Flags().BoolVar(&werror, "werror", false, "fail on warnings too")
	return cmd
}

func (w *world) check(args []string, format string, werror bool) error {
	groups, err := w.load(args)
	if err != nil {
		return err
	}
	all, sources, count := &diag.List{}, diag.Sources{}, 0
	for _, s := range groups {
		machines, list, err := gen.Load(s.files)
		if err != nil {
			return err
		}
		namedTests(s.dir, machines, list)
		all.Append(s.own(list))
		count += s.count()
		for path, data := range s.excerpts() {
			sources[path] = data
		}
	}
	if err := w.report(w.stdout, all, sources, format); err != nil {
		return err
	}
	if format == formatText {
		fmt.Fprintln(w.stdout, summary(all, count))
	}
	if failed(all, werror) {
		return errReported
	}
	return nil
}

func summary(list *diag.List, specs int) string {
	errors, warnings := tally(list)
	if errors+warnings == 0 {
		return plural(specs, "spec") + ": no problems"
	}
	return fmt.Sprintf("%s: %s, %s", plural(specs, "spec"), plural(errors, "error"), plural(warnings, "warning"))
}
