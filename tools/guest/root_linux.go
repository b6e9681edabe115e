package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// buildRoot makes the guest's root file system.
func buildRoot(k *kernel, o options, in invocation) ([]byte, error) {
	a := newArchive()
	for name, file := range map[string]string{initFile: "/proc/self/exe", testBinary: o.binary} {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		a.add(name, 0o755, data)
	}
	modules, err := k.resolve(o.modules)
	if err != nil {
		return nil, err
	}
	for _, m := range modules {
		a.add(path.Join(moduleFolder, m.Name), 0o644, m.data)
	}
	for _, name := range o.programs {
		if err := a.addProgram(name); err != nil {
			return nil, fmt.Errorf("program for the guest: %w", err)
		}
	}
	if err := a.addTestdata(); err != nil {
		return nil, err
	}
	told, err := json.Marshal(plan{Modules: modules, Arguments: in.arguments, Variables: o.variables})
	if err != nil {
		return nil, err
	}
	a.add(planFile, 0o644, told)
	return a.bytes(), nil
}

// addTestdata copies the folder testdata of the package, in which go test runs
// its binary, if there is one.
func (a *archive) addTestdata() error {
	if _, err := os.Stat("testdata"); err != nil {
		return nil
	}
	return filepath.WalkDir("testdata", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		a.add(path.Join(testFolder, filepath.ToSlash(name)), 0o644, data)
		return nil
	})
}
