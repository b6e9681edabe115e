package main

import (
	"context"
	"os/exec"
)

// ton is the TVM of the TON node. The tests start it themselves, and have their own chain
// around it: adapters/ton/tontest.
type ton struct {
	nodePackages
}

func (t *ton) name() string { return "ton" }

// start runs the TVM once: one that can't be loaded is found here and not in every test.
func (t *ton) start(ctx context.Context, _ string) (*running, error) {
	cmd := exec.CommandContext(ctx, "node", "-e", tonVersion)
	cmd.Dir = t.dir
	version, err := output(cmd)
	if err != nil {
		return nil, err
	}
	return &running{
		version: version,
		where:   "accounts run on the real TVM; the chain around it is ours",
		env:     []string{"FSMGEN_TON=" + t.dir},
	}, nil
}

// tonVersion prints the version of the package, and the commit of the node that its TVM is of.
const tonVersion = `
require('@ton/sandbox').Executor.create().then(tvm => console.log(
	'@ton/sandbox ' + require('@ton/sandbox/package.json').version + ', TVM of ' + tvm.getVersion().commitHash.slice(0, 8)))
`
