package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A kernel is an unpacked Debian kernel package.
type kernel struct {
	image   string            // the file to boot
	modules map[string]string // a module's file by its name
	builtin map[string]bool   // what needs no module
}

func openKernel(root string) (*kernel, error) {
	images, _ := filepath.Glob(filepath.Join(root, "boot", "vmlinuz-*")) // the patterns are well formed
	folders, _ := filepath.Glob(filepath.Join(root, "lib", "modules", "*"))
	if len(images) != 1 || len(folders) != 1 {
		return nil, fmt.Errorf("%s must hold one kernel, an unpacked package linux-image-cloud-amd64: it has %d in boot and modules of %d", root, len(images), len(folders))
	}
	k := &kernel{image: images[0], modules: map[string]string{}, builtin: map[string]bool{}}
	err := filepath.WalkDir(filepath.Join(folders[0], "kernel"), func(path string, _ fs.DirEntry, err error) error {
		if name, ok := strings.CutSuffix(path, ".ko"); ok {
			k.modules[moduleName(name)] = path
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	list, err := os.ReadFile(filepath.Join(folders[0], "modules.builtin"))
	if err != nil {
		return nil, err
	}
	for path := range strings.FieldsSeq(string(list)) {
		k.builtin[moduleName(strings.TrimSuffix(path, ".ko"))] = true
	}
	return k, nil
}

// moduleName is the kernel's own name of a module: file names may have dashes.
func moduleName(path string) string {
	return strings.ReplaceAll(filepath.Base(path), "-", "_")
}

// module is one to load.
type module struct {
	Name       string
	Parameters string
	data       []byte
}

// resolve returns the modules to load, in order: what a module depends on comes
// before it. Each of wanted is a name, with parameters after a space.
func (k *kernel) resolve(wanted []string) ([]module, error) {
	var order []module
	seen := map[string]bool{}
	var visit func(string) error
	visit = func(name string) error {
		name, parameters, _ := strings.Cut(name, " ")
		name = moduleName(name)
		if seen[name] || k.builtin[name] {
			return nil
		}
		seen[name] = true
		m, needs, err := k.read(name)
		if err != nil {
			return err
		}
		for _, need := range needs {
			if err := visit(need); err != nil {
				return err
			}
		}
		m.Parameters = parameters
		order = append(order, m)
		return nil
	}
	for _, name := range wanted {
		if err := visit(name); err != nil {
			return nil, err
		}
	}
	return order, nil
}

// read loads a module and learns from itself what it depends on.
func (k *kernel) read(name string) (module, []string, error) {
	path, ok := k.modules[name]
	if !ok {
		return module{}, nil, fmt.Errorf("the kernel has no module %s (compressed modules are not read)", name)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return module{}, nil, err
	}
	needs, err := dependencies(data)
	if err != nil {
		return module{}, nil, fmt.Errorf("%s: %w", path, err)
	}
	return module{Name: name, data: data}, needs, nil
}

func dependencies(data []byte) ([]string, error) {
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	section := file.Section(".modinfo")
	if section == nil {
		return nil, errors.New("not a kernel module")
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	for line := range bytes.SplitSeq(info, []byte{0}) {
		if list, ok := strings.CutPrefix(string(line), "depends="); ok {
			return strings.FieldsFunc(list, func(r rune) bool { return r == ',' }), nil
		}
	}
	return nil, nil
}
