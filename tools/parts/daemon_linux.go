package main

import "syscall"

// dieWithParent has the kernel send the signal when the forking thread ends.
func dieWithParent(attributes *syscall.SysProcAttr, signal syscall.Signal) {
	attributes.Pdeathsig = signal
}
