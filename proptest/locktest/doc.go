// Package locktest is the conformance suite of engine.Locker. It is for tests only.
package locktest
