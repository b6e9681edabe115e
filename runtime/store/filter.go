package store

import "time"

// Filter narrows a list of messages. A field that is empty lets everything through.
type Filter struct {
	Machine     string
	Record      string // the id in its canonical text form
	Effect      string
	Destination string
	Error       string    // part of the last error; upper and lower case differ
	Before      time.Time // messages of steps that were taken before this time
}
