package devicemapper

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// pool is an active thin-pool device.
type pool struct {
	*control
	name         string
	node         string // its name in the tables of its devices
	at           string // major:minor, its name in the kernel's answers
	metadata     string // the device of its metadata
	blockSectors uint64
}

// openPool returns the pool of a Config. It creates the pool if it is not active.
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
		return nil, &Error{Op: "open pool", Name: config.Pool, Err: fmt.Errorf("the device is of type %s, not thin-pool: set Config.Pool to another name", table.kind)}
	}
	// A suspended pool was being created when its process died.
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
		return nil, &Error{Op: "open pool", Name: p.name, Err: fmt.Errorf("parse its table %q: %w", table.params, err)}
	}
	for device, has := range map[string]string{config.Metadata: metadata, config.Data: data} {
		if err := isDevice(device, has); err != nil {
			return nil, explain("open pool", p.name, err)
		}
	}
	return p, nil
}

// isDevice returns an error unless the block device at path has this number. It keeps openPool
// from using another pool of the same name.
func isDevice(path, number string) error {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if have := deviceNumber(stat.Rdev); have != number {
		return fmt.Errorf("a pool of this name is active on device %s, but %s is device %s: choose another name, or remove that pool", number, path, have)
	}
	return nil
}

// deviceNumber returns a dev_t as the kernel's tables have it, major:minor.
func deviceNumber(number uint64) string {
	return fmt.Sprintf("%d:%d", unix.Major(number), unix.Minor(number))
}

// createPool creates the pool's device. Writes without space fail at once: by default the kernel
// makes them wait for a minute, and the process seems to hang.
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
	// The kernel loads the module itself, so EINVAL without the driver means that there is no
	// such module.
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

// hasTarget reports whether the kernel has a driver. If the kernel does not answer, it returns
// true.
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

// writable returns nil if the pool can create devices, or the reason as an *Error.
func (p *pool) writable() error {
	status, err := p.usage()
	if err != nil {
		return err
	}
	return status.writable(p.name)
}
