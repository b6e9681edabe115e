// Package service uses all ten machines: the handlers of their effects, and the callers whose
// events move the records on. The systems around it are folders, see Outside.
package service
