package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/docs"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/mermaid"
)

func inspectCommand(w *world) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Show what a machine is, for people or for tools",
		Long: `Inspect shows a machine with everything derived: rows expanded to concrete
source states, defaults filled in, and what enforces each invariant. With
--format json it prints exactly one object, whose keys other tools rely on.`,
		Example: `  fsmgen inspect spec/order.yaml
  fsmgen inspect --format json spec/order.yaml | jq '.transitions[].name'`,
		Args:              oneFile,
		ValidArgsFunction: specFiles,
		RunE: action(func(args []string) error {
			m, err := w.machine(args[0])
			if err != nil {
				return err
			}
			if format == formatText {
				_, err = fmt.Fprint(w.stdout, docs.InspectText(m))
				return err
			}
			data, err := docs.Inspect(m)
			if err != nil {
				return err
			}
			_, err = w.stdout.Write(data)
			return err
		}),
	}
	formatFlag(cmd, &format, formatText, formatJSON)
	return cmd
}

func diagramCommand(w *world) *cobra.Command {
	return &cobra.Command{
		Use:   "diagram FILE",
		Short: "Print the Mermaid diagram of a machine",
		Example: `  fsmgen diagram spec/order.yaml
  fsmgen diagram spec/order.yaml > order.mmd`,
		Args:              oneFile,
		ValidArgsFunction: specFiles,
		RunE: action(func(args []string) error {
			m, err := w.machine(args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(w.stdout, mermaid.Diagram(m))
			return err
		}),
	}
}

func oneFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("want one spec file, got %d arguments", len(args))
	}
	return nil
}

// machine loads one spec. Its siblings are loaded with it, since it may refer
// to them; their problems are not its own.
func (w *world) machine(file string) (*ir.Machine, error) {
	s, err := w.loadOne([]string{file})
	if err != nil {
		return nil, err
	}
	if s.asked == nil {
		return nil, usagef("%s is a folder; name one spec file in it", file)
	}
	machines, list, err := gen.Load(s.files)
	if err != nil {
		return nil, err
	}
	own := s.own(list)
	if own.HasErrors() {
		if err := w.report(w.stderr, own, s.excerpts(), formatText); err != nil {
			return nil, err
		}
		return nil, errReported
	}
	for _, m := range machines {
		if s.wants(m.File) {
			return m, nil
		}
	}
	return nil, fmt.Errorf("%s has no machine", file)
}
