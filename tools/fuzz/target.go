package main

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// A target is one fuzz function of the package in a folder, which is relative to the root.
type target struct {
	dir  string
	name string
}

func (t target) String() string { return t.dir + " " + t.name }

var declaration = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// find returns the targets of a tree in the order of their files. Folders named testdata and
// node_modules are left out.
func find(tree fs.FS) (targets []target, err error) {
	err = fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && (name == "testdata" || name == "node_modules") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		for _, m := range declaration.FindAllSubmatch(source, -1) {
			targets = append(targets, target{dir: path.Dir(file), name: string(m[1])})
		}
		return nil
	})
	return targets, err
}
