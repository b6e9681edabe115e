package devicemapper

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// nodes is the directory of the nodes of devices.
const nodes = "/dev/mapper"

func nodeOf(name string) string { return filepath.Join(nodes, name) }

// device is what the kernel reports about a device.
type device struct {
	exists    bool
	number    uint64 // the dev_t
	opened    int32  // how often it is open, mounts included
	live      bool   // it has a table
	suspended bool
}

// look returns the device with a name. If there is none, it returns the zero device and no
// error.
func (c *control) look(name string) (device, error) {
	head, _, err := c.do(unix.DM_DEV_STATUS, command{name: name})
	if errors.Is(err, unix.ENXIO) {
		return device{}, nil
	}
	if err != nil {
		return device{}, explain("look at", name, err)
	}
	return device{
		exists: true, number: head.Dev, opened: head.Open_count,
		live:      head.Flags&unix.DM_ACTIVE_PRESENT_FLAG != 0,
		suspended: head.Flags&unix.DM_SUSPEND_FLAG != 0,
	}, nil
}

// activate creates a device with one target and its node. It continues where an interrupted
// attempt ended, and leaves a device that works as it is. If the kernel refuses the target,
// activate removes the device and returns an error that wraps the errno.
func (c *control) activate(name string, t target) error {
	d, err := c.look(name)
	if err != nil {
		return err
	}
	if !d.exists {
		_, _, err := c.do(unix.DM_DEV_CREATE, command{name: name})
		// EBUSY: another process has created it. load decides which table it gets.
		if err != nil && !errors.Is(err, unix.EBUSY) {
			return explain("create device", name, err)
		}
	}
	if !d.live {
		if err := c.load(name, t); err != nil {
			return errors.Join(err, c.remove(name))
		}
	}
	if err := c.resume(name); err != nil {
		return err
	}
	return c.makeNode(name)
}

// load loads a table into a device. The next resume makes it the live one.
func (c *control) load(name string, t target) error {
	table, err := encodeTargets([]target{t})
	if err == nil {
		_, _, err = c.do(unix.DM_TABLE_LOAD, command{name: name, targets: 1, payload: table})
	}
	return explain("load table", name, err)
}

// suspend waits until pending writes are on the device, and makes later ones wait for resume. A
// mounted file system is frozen meanwhile.
func (c *control) suspend(name string) error {
	_, _, err := c.do(unix.DM_DEV_SUSPEND, command{name: name, flags: unix.DM_SUSPEND_FLAG})
	return explain("suspend device", name, err)
}

func (c *control) resume(name string) error {
	_, _, err := c.do(unix.DM_DEV_SUSPEND, command{name: name})
	return explain("resume device", name, err)
}

// remove waits busyRetries times busyPause for udev, which opens every new device for a
// moment.
const (
	busyRetries = 20
	busyPause   = 50 * time.Millisecond
)

// remove removes a device and its node. A device that does not exist is no error.
func (c *control) remove(name string) error {
	_, _, err := c.do(unix.DM_DEV_REMOVE, command{name: name})
	for range busyRetries {
		if !errors.Is(err, unix.EBUSY) || !udevRuns() {
			break
		}
		time.Sleep(busyPause)
		_, _, err = c.do(unix.DM_DEV_REMOVE, command{name: name})
	}
	if err != nil && !errors.Is(err, unix.ENXIO) {
		return explain("remove device", name, err)
	}
	return c.removeNode(name)
}

func (c *control) removeNode(name string) error {
	err := c.step("remove node")
	if err == nil {
		err = os.Remove(nodeOf(name))
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return explain("remove node", name, err)
}

func udevRuns() bool {
	_, err := os.Stat("/run/udev/control")
	return err == nil
}

// makeNode creates the node of a device unless udev has. It replaces the node of another
// device, which remains if a device is removed without its node.
func (c *control) makeNode(name string) error {
	d, err := c.look(name)
	if err != nil {
		return err
	}
	for range 2 {
		if hasNode(name, d.number) {
			return nil
		}
		if err := c.removeNode(name); err != nil {
			return err
		}
		if err := c.step("make node"); err != nil {
			return err
		}
		err = unix.Mknod(nodeOf(name), unix.S_IFBLK|0o600, int(d.number))
		if !errors.Is(err, unix.EEXIST) {
			break
		}
	}
	return explain("make node", name, err)
}

// hasNode reports whether a device has its node.
func hasNode(name string, number uint64) bool {
	var have unix.Stat_t
	err := unix.Stat(nodeOf(name), &have)
	return err == nil && have.Mode&unix.S_IFMT == unix.S_IFBLK && have.Rdev == number
}

// table returns the only target of a device's live table. status returns the same with the
// driver's status as parameters. Both return ENODATA unless there is exactly one target.
func (c *control) table(name string) (target, error) {
	return c.ask(name, unix.DM_STATUS_TABLE_FLAG)
}

func (c *control) status(name string) (target, error) { return c.ask(name, 0) }

func (c *control) ask(name string, flags uint32) (target, error) {
	head, data, err := c.do(unix.DM_TABLE_STATUS, command{name: name, flags: flags})
	if err != nil {
		return target{}, explain("ask for the status of", name, err)
	}
	targets, err := decodeTargets(data, head.Target_count)
	if err == nil && len(targets) != 1 {
		err = unix.ENODATA // there is no live table, or one of another program
	}
	if err != nil {
		return target{}, explain("ask for the status of", name, err)
	}
	return targets[0], nil
}

// message sends a message to the target of a device.
func (c *control) message(name, text string) error {
	_, _, err := c.do(unix.DM_TARGET_MSG, command{name: name, payload: encodeMessage(text)})
	return explain("send message \""+text+"\" to", name, err)
}

// devices returns the names of all devices.
func (c *control) devices() ([]string, error) {
	_, data, err := c.do(unix.DM_LIST_DEVICES, command{})
	if err != nil {
		return nil, explain("list devices of", controlNode, err)
	}
	return decodeNames(data), nil
}
