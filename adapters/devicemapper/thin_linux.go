package devicemapper

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// probeSuffix ends the name of the device with which has looks up a number. No volume has such a
// name.
const probeSuffix = ".probe"

func (p *pool) thin(number uint32, sectors uint64) target {
	return target{length: sectors, kind: "thin", params: fmt.Sprintf("%s %d", p.node, number)}
}

// has reports whether the pool has a device with this number. It loads a table for the number:
// the driver opens the device, and answers ENODATA if there is none. has never resumes the
// table.
func (p *pool) has(number uint32) (bool, error) {
	unlock, err := p.lock()
	if err != nil {
		return false, err
	}
	defer unlock()
	probe := p.name + probeSuffix
	// The probe of a process that died keeps its number open.
	if err := p.remove(probe); err != nil {
		return false, err
	}
	if _, _, err := p.do(unix.DM_DEV_CREATE, command{name: probe}); err != nil {
		return false, explain("create device", probe, err)
	}
	err = p.load(probe, p.thin(number, 1))
	removed := p.remove(probe)
	if errors.Is(err, unix.ENODATA) {
		return false, removed
	}
	return true, errors.Join(err, removed)
}

// create creates an empty device. It returns EEXIST if the pool has the number.
func (p *pool) create(number uint32) error {
	return p.blame(p.message(p.name, fmt.Sprintf("create_thin %d", number)))
}

// blame adds the error of the pool to err, if there is one: a pool that can create nothing
// answers EOPNOTSUPP.
func (p *pool) blame(err error) error {
	if !errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	return errors.Join(err, p.writable())
}

// snapshot creates a device that shares the present content of the origin. It suspends an active
// origin meanwhile. It returns EEXIST if the pool has the number, and ENODATA if the pool does
// not have the origin's.
func (p *pool) snapshot(number, origin uint32, originName string) error {
	unlock, err := p.lock()
	if err != nil {
		return err
	}
	defer unlock()
	message := func() error {
		return p.blame(p.message(p.name, fmt.Sprintf("create_snap %d %d", number, origin)))
	}
	d, err := p.look(originName)
	if err != nil {
		return err
	}
	if !d.live {
		return message()
	}
	if err := p.suspend(originName); err != nil {
		return err
	}
	err = message()
	return errors.Join(err, p.resume(originName))
}

// switchOn activates a device of the pool. It returns ENODATA if the pool does not have the
// number.
func (p *pool) switchOn(name string, number uint32, sectors uint64) error {
	unlock, err := p.lock()
	if err != nil {
		return err
	}
	defer unlock()
	return p.activate(name, p.thin(number, sectors))
}

// delete deletes a device that is not active. A device that does not exist is no error. The lock
// excludes the probes of other processes, which keep a device open.
func (p *pool) delete(number uint32) error {
	unlock, err := p.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := p.remove(p.name + probeSuffix); err != nil {
		return err
	}
	err = p.message(p.name, fmt.Sprintf("delete %d", number))
	if errors.Is(err, unix.ENODATA) {
		return nil
	}
	return p.blame(err)
}

// settled is like look, but waits for another process that has suspended the device for a
// snapshot. A device that is suspended while this process has the lock was left by a process
// that died.
func (p *pool) settled(name string) (device, error) {
	d, err := p.look(name)
	if err != nil || !d.suspended {
		return d, err
	}
	unlock, err := p.lock()
	if err != nil {
		return device{}, err
	}
	defer unlock()
	return p.look(name)
}

// numberOf returns the number of an active device.
func (p *pool) numberOf(name string) (uint32, error) {
	table, err := p.table(name)
	if err != nil {
		return 0, err
	}
	if table.kind != "thin" {
		return 0, &Error{Op: "look at", Name: name, Err: fmt.Errorf("a device of this name is of type %s, not a thin device", table.kind)}
	}
	at, number, err := parseThinTable(table.params)
	if err == nil && at != p.at {
		err = fmt.Errorf("a device of this name is in another pool, %s", at)
	}
	return number, explain("look at", name, err)
}

// mapped returns how many bytes of the pool a device refers to, shared ones included.
func (p *pool) mapped(name string) (int64, error) {
	status, err := p.status(name)
	if err != nil {
		return 0, err
	}
	bytes, err := parseThinStatus(status.params)
	return bytes, explain("read the status of", name, err)
}

// switchOff removes the device of a volume. The pool keeps its content. switchOff resumes a
// suspended device first: its waiting writes would keep it open.
func (p *pool) switchOff(name string, d device) error {
	if d.suspended && d.live {
		if err := p.resume(name); err != nil {
			return err
		}
	}
	return p.remove(name)
}
