package hung

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// clockTicks is how many ticks of /proc/PID/stat are a second, on every Linux.
const clockTicks = 100

// process is what /proc says of one.
type process struct {
	parent int
	ticks  uint64 // of the processor, used by it and by children that it has waited for
}

// processor returns the ticks of the processor that a process and those below it have used.
func processor(proc string, pid int) (uint64, error) {
	all, err := processes(proc)
	if err != nil {
		return 0, err
	}
	if _, there := all[pid]; !there {
		return 0, fmt.Errorf("process %d: %w", pid, os.ErrNotExist)
	}
	var sum uint64
	for one := range all {
		if below(all, one, pid) {
			sum += all[one].ticks
		}
	}
	return sum, nil
}

// below reports whether a process is the root or has it among its ancestors.
func below(all map[int]process, one, root int) bool {
	for range all { // a pid that was reused while we read could close a circle
		if one == root {
			return true
		}
		p, there := all[one]
		if !there {
			return false
		}
		one = p.parent
	}
	return false
}

func processes(proc string) (map[int]process, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, err
	}
	all := map[int]process{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue // no process
		}
		line, err := os.ReadFile(filepath.Join(proc, entry.Name(), "stat"))
		if err != nil {
			continue // it has ended
		}
		if all[pid], err = parseStat(string(line)); err != nil {
			return nil, fmt.Errorf("process %d: %w", pid, err)
		}
	}
	return all, nil
}

// parseStat reads a line of /proc/PID/stat. The name of the program, in brackets, may
// have spaces and brackets itself.
func parseStat(line string) (process, error) {
	const parent, first, after = 1, 11, 15 // fields after the name: the parent; utime, stime, cutime and cstime
	fields := strings.Fields(line[strings.LastIndex(line, ")")+1:])
	if len(fields) < after {
		return process{}, errors.New("its line in /proc is too short")
	}
	var p process
	var err error
	if p.parent, err = strconv.Atoi(fields[parent]); err != nil {
		return process{}, err
	}
	for _, field := range fields[first:after] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return process{}, err
		}
		p.ticks += n
	}
	return p, nil
}
