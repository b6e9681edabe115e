package images

import "github.com/fsmgen/fsmgen/adapters/object"

// What the service needs of an object store is declared in package object, so that adapters know
// no service.
type (
	// Objects is where the tars of the images come from.
	Objects = object.Objects
	// Object is what was fetched.
	Object = object.Object
	// Progress receives how many bytes of how many are done.
	Progress = object.Progress
)

// Errors of Objects.
var (
	ErrNoObject = object.ErrNoObject
	ErrChanged  = object.ErrChanged
	ErrDenied   = object.ErrDenied
)
