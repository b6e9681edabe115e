package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// An account is who a server runs as. The zero value is the runner's own user.
type account struct {
	credential *syscall.Credential
}

// serverAccount returns the user that a server refusing to run as root runs
// as, and gives that user the directory.
func serverAccount(dir string) (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return account{}, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return account{}, err
		}
		credential := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return account{credential}, os.Chown(dir, int(uid), int(gid))
	}
	return account{}, errors.New("the server will not run as root, and there is no user postgres or nobody")
}

// command prepares a program that runs as the account, in dir.
func (a account) command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential}
	return cmd
}
