//go:build !linux

package main

import "syscall"

// dieWithParent does nothing where the kernel has no such service: there a
// killed runner leaves its servers to the person who killed it.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}
