package devicemapper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// Volumes implements volume.Volumes. It is safe for concurrent use, also by several processes.
// Its methods return an *Error if the kernel or the pool refuses an operation, and wrap the errors
// of Numbers and of the context.
type Volumes struct {
	config  Config
	numbers Numbers
	pool    *pool
}

var _ volume.Volumes = (*Volumes)(nil)

// New opens the pool of a Config and creates it if it is not active. It returns an error for an
// invalid Config, and if a pool of this name is active on other devices. The error wraps
// volume.ErrUnsupported if the kernel has no device-mapper or no thin-pool, or if the process is
// not root.
func New(config Config, numbers Numbers) (*Volumes, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("device-mapper: %w", err)
	}
	c, err := openControl()
	if err != nil {
		return nil, err
	}
	p, err := openPool(c, config)
	if err != nil {
		return nil, errors.Join(err, c.file.Close())
	}
	c.step = config.Step // not for the steps of New
	return &Volumes{config: config, numbers: numbers, pool: p}, nil
}

// Close closes the control node. The pool and its volumes stay active. Volumes must not be used
// afterwards.
func (v *Volumes) Close() error { return v.pool.file.Close() }

// Create implements volume.Volumes. It reserves a number, and creates, activates, formats and
// mounts the device.
func (v *Volumes) Create(ctx context.Context, name string) (volume.Volume, error) {
	number, err := v.reserve(ctx, "create", name)
	if err == nil {
		err = isNew("create", name, v.pool.create(number))
	}
	if err == nil {
		err = v.switchOn(name, number)
	}
	if err == nil {
		err = v.format(ctx, name)
	}
	if err == nil {
		err = v.mount(name)
	}
	if err != nil {
		return volume.Volume{}, err
	}
	return v.Look(ctx, name)
}

// Snapshot implements volume.Volumes.
func (v *Volumes) Snapshot(ctx context.Context, origin, name string) (volume.Volume, error) {
	from, err := v.find(ctx, origin)
	if err == nil {
		err = v.isOrigin(from)
	}
	if err != nil {
		return volume.Volume{}, err
	}
	number, err := v.reserve(ctx, "snapshot", name)
	if err == nil {
		err = isNew("snapshot", name, v.pool.snapshot(number, from.number, origin))
	}
	if errors.Is(err, unix.ENODATA) { // deleted meanwhile
		err = noOrigin(origin, err)
	}
	if err == nil {
		err = v.switchOn(name, number)
	}
	if err != nil {
		return volume.Volume{}, err
	}
	return v.Look(ctx, name)
}

// isOrigin returns volume.ErrNoOrigin if the volume does not exist. It returns volume.ErrBusy if
// the volume is mounted for writing, or in Config.Mounts, where it is read-only only after writes
// were lost.
func (v *Volumes) isOrigin(from found) error {
	if from.Condition == volume.Absent {
		return noOrigin(from.Name, unix.ENODATA)
	}
	for _, m := range from.mounts {
		if !m.readOnly || m.place == v.place(from.Name) {
			return &Error{Op: "snapshot", Name: from.Name, Kind: volume.ErrBusy, Advice: "unmount it first", Err: fmt.Errorf("it is mounted at %s: %w", m.place, unix.EBUSY)}
		}
	}
	return nil
}

func noOrigin(name string, cause error) error {
	return &Error{Op: "snapshot", Name: name, Kind: volume.ErrNoOrigin, Err: cause}
}

// reserve returns the number of a volume that Create or Snapshot will make. A name without a
// number never gets one that the pool has: that device may be the last copy of a volume. It
// returns volume.ErrExists if the name is known, and the pool's error if it can create nothing.
func (v *Volumes) reserve(ctx context.Context, op, name string) (uint32, error) {
	f, err := v.find(ctx, name)
	if err == nil && f.Condition != volume.Absent {
		err = isNew(op, name, unix.EEXIST)
	}
	if err == nil {
		err = v.pool.writable()
	}
	var taken []uint32
	if err == nil && !f.numbered {
		taken, err = v.pool.numbers()
	}
	if err == nil {
		err = v.config.Step("reserve number")
	}
	if err != nil {
		return 0, err
	}
	number, err := v.numbers.Number(ctx, name, taken)
	if err == nil && number > MaxNumber {
		err = fmt.Errorf("Numbers returned %d, which is more than 24 bits", number)
	}
	if err != nil {
		return 0, fmt.Errorf("reserve a number for volume %s: %w", name, err)
	}
	return number, nil
}

// isNew returns volume.ErrExists for EEXIST, and other errors unchanged. The pool answers EEXIST
// if another process has just created the volume.
func isNew(op, name string, err error) error {
	if errors.Is(err, unix.EEXIST) {
		return &Error{Op: op, Name: name, Kind: volume.ErrExists, Advice: "use it, or destroy it first", Err: err}
	}
	return err
}

func (v *Volumes) switchOn(name string, number uint32) error {
	return v.pool.switchOn(name, number, v.config.VolumeBytes/sectorSize)
}

// format formats a volume. If that fails it adds the error of the pool, because the exit code of
// mkfs does not tell whether the pool is full.
func (v *Volumes) format(ctx context.Context, name string) error {
	if err := v.config.Step("format"); err != nil {
		return err
	}
	err := format(ctx, v.config.Mkfs, nodeOf(name))
	if err == nil {
		return nil
	}
	return errors.Join(err, v.pool.writable())
}

// Activate implements volume.Volumes.
func (v *Volumes) Activate(ctx context.Context, name string) (volume.Volume, error) {
	f, err := v.find(ctx, name)
	if err != nil {
		return f.Volume, err
	}
	if f.Condition == volume.Absent {
		return f.Volume, missing("activate", name, unix.ENODATA)
	}
	err = v.switchOn(name, f.number)
	if errors.Is(err, unix.ENODATA) { // deleted meanwhile
		err = missing("activate", name, err)
	}
	if err != nil {
		return f.Volume, err
	}
	return v.Look(ctx, name)
}

// Deactivate removes the device of a volume. The volume stays known, and Activate makes it active
// again. A volume that is not active is no error. Deactivate returns volume.ErrBusy if the volume
// is mounted or open.
func (v *Volumes) Deactivate(ctx context.Context, name string) error {
	f, err := v.find(ctx, name)
	if err != nil || !f.device.exists {
		return err
	}
	return v.pool.switchOff(name, f.device)
}

// List implements volume.Volumes. A device of the pool without a name is listed as number-N;
// Destroy accepts that name.
func (v *Volumes) List(ctx context.Context) ([]volume.Volume, error) {
	// The pool before the names: every device had a name when it was created.
	inPool, err := v.pool.numbers()
	if errors.Is(err, unix.EOPNOTSUPP) {
		err = nil // a damaged pool, or one without space for metadata, can't list its devices
	}
	if err != nil {
		return nil, err
	}
	numbers, err := v.numbers.Names(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the numbers of the volumes: %w", err)
	}
	names := slices.Sorted(maps.Keys(numbers))
	named := slices.Collect(maps.Values(numbers))
	for _, number := range inPool {
		if !slices.Contains(named, number) {
			names = append(names, unnamed(number))
		}
	}
	slices.Sort(names)
	var all []volume.Volume
	for _, name := range names {
		found, err := v.Look(ctx, name)
		if err != nil {
			return nil, err
		}
		if found.Condition != volume.Absent {
			all = append(all, found)
		}
	}
	return all, nil
}

// Usage implements volume.Volumes.
func (v *Volumes) Usage(context.Context) (volume.Usage, error) {
	s, err := v.pool.usage()
	block := int64(v.pool.blockSectors) * sectorSize
	return volume.Usage{
		Used: s.usedData * block, Total: s.totalData * block,
		UsedMeta: s.usedMeta * metadataBlock, TotalMeta: s.totalMeta * metadataBlock,
	}, err
}

// Mapped returns how many bytes of the pool an active volume refers to, including those that it
// shares with other volumes. It returns an *Error if the volume is not active.
func (v *Volumes) Mapped(_ context.Context, name string) (int64, error) { return v.pool.mapped(name) }
