package devicemapper

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// pool is a thin-pool device.
type pool struct {
	*control
	name         string
	node         string // what tables of its devices name
	at           string // major:minor, as the kernel's tables name it
	metadata     string // the device of its metadata
	blockSectors uint64
}

// openPool takes the pool of a Config, and makes it first if it isn't active.
func openPool(c *control, config Config) (*pool, error) {
	unlock, err := c.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	d, err := c.look(config.Pool)
	if err != nil {
		return nil, err
	}
	if !d.live {
		if err := c.createPool(config); err != nil {
			return nil, err
		}
	}
	table, err := c.table(config.Pool)
	if err != nil {
		return nil, err
	}
	if table.kind != "thin-pool" {
		return nil, &Error{Op: "open pool", Name: config.Pool, Err: fmt.Errorf("the device is a %s, not a thin-pool", table.kind)}
	}
	// One that is suspended was being made by a process that died.
	if d.suspended {
		if err := c.resume(config.Pool); err != nil {
			return nil, err
		}
	}
	if err := c.makeNode(config.Pool); err != nil {
		return nil, err
	}
	return c.describePool(config, table)
}

func (c *control) describePool(config Config, table target) (*pool, error) {
	d, err := c.look(config.Pool)
	if err != nil {
		return nil, err
	}
	p := &pool{control: c, name: config.Pool, node: nodeOf(config.Pool), metadata: config.Metadata, at: deviceNumber(d.number)}
	var metadata, data string
	if _, err := fmt.Sscan(table.params, &metadata, &data, &p.blockSectors); err != nil {
		return nil, &Error{Op: "open pool", Name: p.name, Err: fmt.Errorf("its table is %q: %w", table.params, err)}
	}
	for device, has := range map[string]string{config.Metadata: metadata, config.Data: data} {
		if err := isDevice(device, has); err != nil {
			return nil, explain("open pool", p.name, err)
		}
	}
	return p, nil
}

// isDevice makes sure that a pool which was active already is the one that was
// meant, and not another of its name.
func isDevice(path, number string) error {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if have := deviceNumber(stat.Rdev); have != number {
		return fmt.Errorf("a pool of this name is active on device %s, and %s is %s: choose another name, or stop that pool", number, path, have)
	}
	return nil
}

// deviceNumber is how the kernel's tables write a dev_t.
func deviceNumber(number uint64) string {
	return fmt.Sprintf("%d:%d", unix.Major(number), unix.Minor(number))
}

// createPool makes the pool's device. Writes that find no room fail at once:
// a process that is held back for a minute first looks as if it hung.
func (c *control) createPool(config Config) error {
	sectors, err := sectorsOf(config.Data)
	if err != nil {
		return explain("read the size of", config.Data, err)
	}
	err = c.activate(config.Pool, target{
		length: sectors - sectors%config.BlockSectors,
		kind:   "thin-pool",
		params: fmt.Sprintf("%s %s %d %d 1 error_if_no_space", config.Metadata, config.Data, config.BlockSectors, config.LowWaterBlocks),
	})
	// The kernel looks for the module itself, so EINVAL without the driver
	// means that there is none.
	if errors.Is(err, unix.EINVAL) && !c.hasTarget("thin-pool") {
		return &Error{Op: "create pool", Name: config.Pool, Kind: volume.ErrUnsupported, Advice: adviceUnsupported, Err: err}
	}
	return err
}

func sectorsOf(device string) (uint64, error) {
	file, err := os.Open(device)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var bytes uint64
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, file.Fd(), unix.BLKGETSIZE64, uintptr(unsafe.Pointer(&bytes)))
	if errno != 0 {
		return 0, errno
	}
	return bytes / sectorSize, nil
}

// hasTarget reports whether the kernel has a driver. If it won't say, assume so.
func (c *control) hasTarget(kind string) bool {
	_, data, err := c.do(unix.DM_LIST_VERSIONS, command{})
	return err != nil || hasVersion(data, kind)
}

func (p *pool) usage() (poolStatus, error) {
	s, err := p.status(p.name)
	if err != nil {
		return poolStatus{}, err
	}
	status, err := parsePoolStatus(s.params)
	return status, explain("read the status of", p.name, err)
}

// writable returns why nothing can be made in the pool, if so.
func (p *pool) writable() error {
	status, err := p.usage()
	if err != nil {
		return err
	}
	return status.writable(p.name)
}
