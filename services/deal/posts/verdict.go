package posts

import "time"

// Look is a sight of a post at a time. A look that failed is none.
type Look struct {
	At time.Time
	Sight
}

// Terms are what a delivery is verified by.
type Terms struct {
	// Retention is how long a post has to stay, from its publication (document 003, States,
	// DELIVERY_VERIFYING: 24h); 0: 24 h.
	Retention time.Duration
	// Gap is the longest time without a look that leaves no doubt; 0: 1 h.
	Gap time.Duration
	// Confirm is the time after which a post that a look did not find unchanged is looked at again,
	// to be sure; 0: 1 min.
	Confirm time.Duration
}

func (t Terms) withDefaults() Terms {
	if t.Retention == 0 {
		t.Retention = 24 * time.Hour
	}
	if t.Gap == 0 {
		t.Gap = time.Hour
	}
	if t.Confirm == 0 {
		t.Confirm = time.Minute
	}
	return t
}

// verdict decides by evidence alone. want is the hash of the post, and looks are in the order of
// their times; those before published do not count. The first look that decides is the last that
// counts.
//
//   - Passed: the last look is at or after published plus Retention, every look saw the post
//     unchanged, and neither two looks nor the publication and the first look lie further apart than
//     Gap.
//   - Failed: looks in sequence, the first and the last at least Confirm apart, did not see the post
//     unchanged. So one wrong answer of a channel is no failure, and no success either.
//   - Unproven: neither, and a look at or after published plus Retention saw the post unchanged.
//   - Verifying: more looks are needed.
func verdict(published time.Time, want string, looks []Look, t Terms) State {
	end := published.Add(t.Retention)
	last, proven := published, true // the last look; all looks so far are evidence for Passed
	var missed *Look                // the first of the looks in sequence that missed the post
	for _, l := range looks {
		if l.At.Before(published) {
			continue
		}
		proven = proven && l.At.Sub(last) <= t.Gap && l.shows(want)
		last = l.At
		switch {
		case l.shows(want):
			missed = nil
		case missed == nil:
			missed = &l
		case l.At.Sub(missed.At) >= t.Confirm:
			return Failed
		}
		if proven && !l.At.Before(end) {
			return Passed
		}
	}
	if missed == nil && !last.Before(end) {
		return Unproven
	}
	return Verifying
}

// shows reports whether a look saw the post unchanged.
func (s Sight) shows(want string) bool { return s.Seen && s.Hash == want }
