package store

import (
	"context"
	"time"
)

// TimeTeller is implemented by stores whose database runs on machines of its own. The
// processes that share it may disagree about the time; the database decides.
type TimeTeller interface {
	// Time returns the current time of the database.
	Time(ctx context.Context) (time.Time, error)
}
