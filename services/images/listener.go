package images

// Phase is the part of the work whose progress is told.
type Phase string

// The phases that take long.
const (
	Download Phase = "download"
	Extract  Phase = "extract"
)

// Listener is told how far the work on an image is. Done and total are bytes;
// total is -1 if it is unknown. It is called often, from several goroutines, and
// must be quick.
type Listener func(image string, phase Phase, done, total int64)

func (l Listener) progress(image string, phase Phase) Progress {
	return func(done, total int64) {
		if l != nil {
			l(image, phase, done, total)
		}
	}
}
