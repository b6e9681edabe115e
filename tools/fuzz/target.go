package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A target is one fuzz function of the package in a folder.
type target struct {
	dir  string
	name string
}

func (t target) String() string { return t.dir + " " + t.name }

var declaration = regexp.MustCompile(`(?m)^func (Fuzz\w*)\(`)

// find returns the targets below root, in the order of their files. Folders named testdata and
// node_modules are left out.
func find(root string) (targets []target, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); name == "testdata" || name == "node_modules" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range declaration.FindAllSubmatch(source, -1) {
			targets = append(targets, target{dir: filepath.Dir(path), name: string(m[1])})
		}
		return nil
	})
	return targets, err
}
