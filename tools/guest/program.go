package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// programFolders are where Debian keeps programs for root, which may not be on
// the PATH, and libraryFolders where the loader of the guest will look.
var (
	programFolders = []string{"/usr/sbin", "/sbin", "/usr/bin", "/bin"}
	libraryFolders = []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"}
)

// addProgram copies a program of the host, its loader and every library that it
// needs, to the same places.
func (a *archive) addProgram(name string) error {
	path, err := findProgram(name)
	if err != nil {
		return err
	}
	return a.addBinary(path, "usr/sbin/"+filepath.Base(name))
}

func findProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return findIn(programFolders, name)
}

func findIn(folders []string, name string) (string, error) {
	for _, folder := range folders {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w in %s", name, fs.ErrNotExist, strings.Join(folders, ", "))
}

func (a *archive) addBinary(path, as string) error {
	data, err := os.ReadFile(path)
	if err != nil || !a.add(as, 0o755, data) {
		return err
	}
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := a.addLoader(file); err != nil {
		return err
	}
	libraries, err := file.ImportedLibraries()
	if errors.Is(err, elf.ErrNoSymbols) {
		return nil // static
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, library := range libraries {
		found, err := findIn(libraryFolders, library)
		if err != nil {
			return fmt.Errorf("a library of %s: %w", path, err)
		}
		if err := a.addBinary(found, strings.TrimPrefix(found, "/")); err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) addLoader(file *elf.File) error {
	for _, part := range file.Progs {
		if part.Type != elf.PT_INTERP {
			continue
		}
		name, err := io.ReadAll(part.Open())
		if err != nil {
			return err
		}
		path := string(bytes.TrimRight(name, "\x00"))
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		a.add(strings.TrimPrefix(path, "/"), 0o755, data)
	}
	return nil
}
