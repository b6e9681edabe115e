package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/mattn/go-isatty"
)

// world is all that the program knows of its surroundings.
type world struct {
	dir            string // the current folder
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
}

// abs resolves a path of the command line.
func (w *world) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(w.dir, path)
}

// colour reports whether what is written to out may have colours.
func (w *world) colour(out any) bool {
	return w.getenv("NO_COLOR") == "" && w.getenv("TERM") != "dumb" && isTerminal(out)
}

// isTerminal reports whether a person is at the other end of stream.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}
