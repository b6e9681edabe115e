// Command images brings container images from an object store to a snapshot
// that is ready to run, and takes up again what a crash cut short.
//
//	images process-image --s3-key alpine.tar
//	images daemon
//	images status
//	images gc
//	images retry RUN
//
// Exit codes: 0; 1 if an image could not be made ready; 2 for a command line
// that can't be obeyed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/services/images/extract"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

const (
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a command line that can't be obeyed.
type usageError struct{ error }

func run(ctx context.Context, args []string) int {
	a := &app{out: os.Stdout, progress: os.Stderr, terminal: isatty.IsTerminal(os.Stderr.Fd()) && os.Getenv("TERM") != "dumb"}
	root := a.command()
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if ctx.Err() != nil {
		fmt.Fprintln(os.Stderr, "images: interrupted; what was begun goes on with the next process-image or daemon")
		return exitFailed
	}
	fmt.Fprintln(os.Stderr, "images:", err)
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(os.Stderr, "  help: %s --help\n", command.CommandPath())
		return exitUsage
	}
	return exitFailed
}

// command is the command line.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "images",
		Short: "Bring images from an object store to a snapshot that is ready to run",
		Long: `images downloads the tar of an image, extracts it into a volume of its own and
makes a copy-on-write snapshot of that. What a crash cuts short goes on with the
next command; what is done already is not done again.

Without further options everything is below ./images-data: buckets are
directories in bucket/, volumes directories in volumes/.`,
		Example: `  images process-image --s3-key alpine.tar
  images process-image --bucket base --s3-key debian/12.tar.zst --s3 "http://ACCESS:SECRET@127.0.0.1:9000"
  images status --json`,
		SilenceUsage: true, SilenceErrors: true,
		Args: unknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	f := root.PersistentFlags()
	f.StringVar(&a.dir, "dir", "images-data", "folder of the database and the tars")
	f.StringVar(&a.s3, "s3", os.Getenv("IMAGES_S3"), "endpoint, `http://ACCESS:SECRET@HOST:PORT?region=R`; default: directories (also $IMAGES_S3)")
	f.StringVar(&a.buckets, "bucket-dir", "", "folder whose directories are the buckets (default DIR/bucket)")
	f.StringVar(&a.pool, "pool", "", "name of a device-mapper thin pool for the volumes; default: directories")
	f.StringVar(&a.poolMetadata, "pool-metadata", "", "block device of the pool's metadata")
	f.StringVar(&a.poolData, "pool-data", "", "block device of the pool's data")
	f.IntVar(&a.parallel, "parallel", 0, "images worked on at once (default 4)")
	f.BoolVar(&a.json, "json", false, "print JSON")
	root.AddCommand(a.processImage(), a.daemon(), a.status(), a.collect(), a.retry())
	return root
}

func (a *app) processImage() *cobra.Command {
	var bucket, key string
	c := &cobra.Command{
		Use:     "process-image --s3-key KEY",
		Short:   "Make the image of an object ready to run, and wait until it is",
		Example: "  images process-image --s3-key alpine.tar",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if key == "" {
				return usageError{errors.New("which object? say --s3-key KEY")}
			}
			return a.process(c.Context(), bucket, key)
		},
	}
	a.addLimits(c)
	c.Flags().StringVar(&bucket, "bucket", "images", "bucket of the object")
	c.Flags().StringVar(&key, "s3-key", "", "key of the object")
	return c
}

// addLimits adds what whoever works has to obey.
func (a *app) addLimits(c *cobra.Command) {
	f := c.Flags()
	f.Int64Var(&a.limits.MaxBytes, "max-bytes", 0, "bytes of all files of an image (default 64 GiB)")
	f.Int64Var(&a.limits.MaxFiles, "max-files", 0, "entries of an image (default 1000000)")
	f.IntVar(&a.limits.MaxDepth, "max-depth", 0, "components of a name (default 64)")
	f.IntVar(&a.limits.MaxPath, "max-path", 0, "bytes of a name or of a link's target (default 4095)")
	f.Int64Var(&a.limits.MaxHeader, "max-header", 0, "bytes of the headers of one entry (default 8 MiB)")
	f.Int64Var(&a.limits.MaxHeaders, "max-headers", 0, "bytes of the headers of all entries (default 2 GiB)")
	f.Int64Var(&a.limits.MaxRatio, "max-ratio", 0, "times that a packed image may grow beyond its first 64 MiB (default 200)")
	f.StringVar((*string)(&a.limits.Privileges), "privileges", string(extract.StripPrivileges), "set-user-ID, set-group-ID and capabilities of files: `strip, keep or refuse`")
	f.DurationVar(&a.validate, "validate-timeout", 0, "how long a validation may take (default 30m)")
	f.DurationVar(&a.extract, "extract-timeout", 0, "how long an extraction may take (default 30m)")
}

func (a *app) daemon() *cobra.Command {
	c := &cobra.Command{
		Use:   "daemon",
		Short: "Do the work that others ask for, until SIGTERM",
		Long: `Do the work that others ask for, until SIGTERM or an interrupt; process-image
works by itself where no daemon is. There is one daemon in a folder.`,
		Example: "  images daemon --parallel 16",
		Args:    noArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return a.serve(c.Context()) },
	}
	a.addLimits(c)
	return c
}

func (a *app) status() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "List the images and how far they are", Args: noArguments,
		Example: "  images status\n  images status --json",
		RunE:    func(c *cobra.Command, _ []string) error { return a.list(c.Context()) },
	}
}

func (a *app) collect() *cobra.Command {
	return &cobra.Command{
		Use: "gc", Short: "Remove volumes and files that nothing refers to", Args: noArguments,
		Example: "  images gc",
		RunE:    func(c *cobra.Command, _ []string) error { return a.gc(c.Context()) },
	}
}

func (a *app) retry() *cobra.Command {
	var why string
	c := &cobra.Command{
		Use: "retry RUN", Short: "Set a run going again that is stuck, once the cause is mended",
		Example: `  images retry 1f0c8f0e-93d3-4c1a-8f6e-6f1e5a2c4b7d --why "the pool has room again"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{errors.New("which run? images status names those that are stuck")}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.resume(c.Context(), args[0], why) },
	}
	c.Flags().StringVar(&why, "why", "", "kept with what is tried again")
	return c
}

func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("there is no command %q", args[0])
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		err = fmt.Errorf("%w; did you mean %q?", err, near[0])
	}
	return usageError{err}
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", args[0])}
	}
	return nil
}
