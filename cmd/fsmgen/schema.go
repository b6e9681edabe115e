package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/cmd/fsmgen/internal/output"
	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

func schemaCommand(w *world) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the language",
		Long: `Schema prints the JSON Schema of the spec language, with which editors complete
and explain a spec. A spec names it in its first line:

  # yaml-language-server: $schema=` + schemaFile + `

Generate keeps that file current next to the specs.`,
		Example: `  fsmgen schema > fsmgen.schema.json
  fsmgen schema --out spec/fsmgen.schema.json`,
		Args: cobra.NoArgs,
		RunE: action(func([]string) error {
			schema, err := syntax.JSONSchema()
			if err != nil {
				return err
			}
			if out == "" {
				_, err = w.stdout.Write(schema)
				return err
			}
			return w.writeSchema(out, schema)
		}),
	}
	cmd.Flags().StringVar(&out, "out", "", "file to write instead of the standard output")
	return cmd
}

func (w *world) writeSchema(out string, schema []byte) error {
	dir, base := filepath.Split(w.abs(out))
	if _, err := os.Stat(dir); err != nil {
		return missing(err, out, "create the folder first")
	}
	plan, err := output.Compare(output.Folder{Dir: dir, Files: []gen.File{{Path: base, Data: schema}}})
	if err == nil {
		err = plan.Apply()
	}
	if err != nil {
		return fmt.Errorf("write schema: %w", err)
	}
	return nil
}
