//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "guest: this needs Linux: the binary that starts QEMU is also the first process in the guest")
	os.Exit(exitRunner)
}
