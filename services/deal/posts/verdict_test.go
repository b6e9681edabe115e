package posts

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var publishedAt = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const hash = "the hash of the post"

// strict are terms that are easy to read: 24 hours, a look each 6 hours, confirmed after 1 minute.
var strict = Terms{Retention: 24 * time.Hour, Gap: 6 * time.Hour, Confirm: time.Minute}

var (
	there   = Sight{Seen: true, Hash: hash}
	gone    = Sight{}
	changed = Sight{Seen: true, Hash: "another"}
)

// at is a look some time after the publication.
func at(after time.Duration, s Sight) Look { return Look{publishedAt.Add(after), s} }

// each is what looks each 6 hours see.
func each(sights ...Sight) (looks []Look) {
	for n, s := range sights {
		looks = append(looks, at(time.Duration(n+1)*6*time.Hour, s))
	}
	return looks
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	const h = time.Hour
	for _, tt := range []struct {
		name  string
		looks []Look
		want  State
	}{
		{"no look", nil, Verifying},
		{"looks until the end", each(there, there, there, there), Passed},
		{"the end is not reached", each(there, there, there), Verifying},
		{"a moment before the end", append(each(there, there, there), at(24*h-1, there)), Verifying},
		{"the last look is late", append(each(there, there, there), at(24*h-1, there), at(25*h, there)), Passed},
		{"only a look at the end", []Look{at(24*h, there)}, Unproven},
		{"the first look is late", append([]Look{at(6*h+1, there)}, each(there, there, there, there)[1:]...), Unproven},
		{"the verifier was dead for a while", []Look{at(6*h, there), at(12*h, there), at(18*h+1, there), at(24*h, there)}, Unproven},
		{"the verifier was dead at the end", []Look{at(6*h, there), at(12*h, there), at(18*h, there), at(24*h+1, there)}, Unproven},
		{"gone", each(there, gone), Verifying},
		{"gone for long", each(there, gone, gone), Failed},
		{"changed for long", each(there, changed, changed), Failed},
		{"first gone, then changed", each(there, gone, changed), Failed},
		{"gone for a moment", append(each(there), at(7*h, gone), at(7*h+time.Minute-1, gone)), Verifying},
		{"gone for a minute", append(each(there), at(7*h, gone), at(7*h+1, gone), at(7*h+time.Minute, gone)), Failed},
		{"gone once", each(there, gone, there, there), Unproven},
		{"gone now and then", each(gone, there, gone, there, gone, there), Unproven},
		{"gone at the end", each(there, there, there, gone), Verifying},
		{"gone from the end on", each(there, there, there, gone, gone), Failed},
		{"gone after it has passed", each(there, there, there, there, gone, gone), Passed},
		{"there after it has failed", each(gone, gone, there, there, there, there), Failed},
		{"gone after the verifier was dead", []Look{at(20*h, gone), at(23*h, gone)}, Failed},
		{"looks from before do not count", append([]Look{at(-2*h, gone), at(-h, gone)}, each(there, there, there, there)...), Passed},
		{"a clock that has jumped", []Look{at(1*h, there), at(24*h, there), at(25*h, there)}, Unproven},
	} {
		if got := verdict(publishedAt, hash, tt.looks, strict); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// byForce is the contract of verdict, looked up in every prefix of the looks.
func byForce(published time.Time, looks []Look, t Terms) State {
	var counted []Look
	for _, l := range looks {
		if !l.At.Before(published) {
			counted = append(counted, l)
		}
	}
	end := published.Add(t.Retention)
	unchanged := func(looks []Look) bool {
		for _, l := range looks {
			if l.Sight != there {
				return false
			}
		}
		return true
	}
	passed := func(looks []Look) bool {
		times := []time.Time{published}
		for _, l := range looks {
			times = append(times, l.At)
		}
		for n := 1; n < len(times); n++ {
			if times[n].Sub(times[n-1]) > t.Gap {
				return false
			}
		}
		return unchanged(looks) && !times[len(times)-1].Before(end)
	}
	failed := func(looks []Look) bool {
		for from := range looks {
			for to := from + 1; to < len(looks); to++ {
				missing := true
				for _, l := range looks[from : to+1] {
					missing = missing && !unchanged([]Look{l})
				}
				if missing && looks[to].At.Sub(looks[from].At) >= t.Confirm {
					return true
				}
			}
		}
		return false
	}
	for n := range counted {
		if prefix := counted[:n+1]; failed(prefix) {
			return Failed
		} else if passed(prefix) {
			return Passed
		}
	}
	if n := len(counted); n > 0 && unchanged(counted[n-1:]) && !counted[n-1].At.Before(end) {
		return Unproven
	}
	return Verifying
}

// TestVerdictByForce compares with the brute force, and counts that each verdict was met.
func TestVerdictByForce(t *testing.T) {
	t.Parallel()
	met := map[State]int{}
	rapid.Check(t, func(t *rapid.T) {
		minutes := func(low, high int, of string) time.Duration {
			return time.Duration(rapid.IntRange(low, high).Draw(t, of)) * time.Minute
		}
		terms := Terms{Retention: minutes(1, 20, "retention"), Gap: minutes(1, 8, "gap"), Confirm: minutes(0, 4, "confirm")}
		var looks []Look
		now := publishedAt.Add(-2 * time.Minute)
		sights := rapid.SampledFrom([]Sight{there, there, there, there, there, there, gone, changed})
		for range rapid.IntRange(0, 25).Draw(t, "looks") {
			now = now.Add(minutes(1, 5, "pause"))
			looks = append(looks, Look{now, sights.Draw(t, "sight")})
		}
		got, want := verdict(publishedAt, hash, looks, terms), byForce(publishedAt, looks, terms)
		if got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		met[got]++
	})
	for _, v := range []State{Verifying, Passed, Failed, Unproven} {
		if met[v] == 0 {
			t.Errorf("no looks were %s: %v", v, met)
		}
	}
}

// TestMoreLooksChangeNoVerdict: what has passed or failed stays so, whatever is looked at later.
func TestMoreLooksChangeNoVerdict(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sights := rapid.SliceOfN(rapid.SampledFrom([]Sight{there, there, there, gone, changed}), 0, 10)
		looks := each(sights.Draw(t, "sights")...)
		decided := Verifying
		for n := range looks {
			now := verdict(publishedAt, hash, looks[:n+1], strict)
			if (decided == Passed || decided == Failed) && now != decided {
				t.Fatalf("%s became %s", decided, now)
			}
			decided = now
		}
	})
}
