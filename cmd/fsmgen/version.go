package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand(w *world) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  fsmgen version",
		Args:    cobra.NoArgs,
		RunE: action(func([]string) error {
			_, err := fmt.Fprintln(w.stdout, "fsmgen", buildVersion())
			return err
		}),
	}
}

// buildVersion is the version of the module that this program was built
// from, "(devel)" for a build from a working tree.
func buildVersion() string {
	const local = "(devel)"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return local
	}
	if info.Main.Path == module && info.Main.Version != "" {
		return info.Main.Version
	}
	for _, dep := range info.Deps { // built as a tool of another module
		if dep.Path == module && dep.Replace == nil {
			return dep.Version
		}
	}
	return local
}
