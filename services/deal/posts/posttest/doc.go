// Package posttest is the conformance suite of posts.Channel. It is for tests only.
package posttest
