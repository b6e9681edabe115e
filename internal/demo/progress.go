package main

import (
	"fmt"
	"strings"
	"time"
)

// progress shows how far the records are: bars that are drawn over on a
// terminal, a line a second elsewhere.
type progress struct {
	t         *transcript
	live      bool
	customers []*customers
	began     time.Time
	drawn     *int       // lines on the terminal that the next drawing replaces
	last      *time.Time // of a plain line
}

func newProgress(t *transcript, live bool, customers []*customers, began time.Time) progress {
	return progress{t: t, live: live, customers: customers, began: began, drawn: new(int), last: new(time.Time)}
}

// show draws once more.
func (p progress) show() {
	if p.live {
		p.draw()
		return
	}
	if time.Since(*p.last) < time.Second {
		return
	}
	*p.last = time.Now()
	records, resting, transitions := 0, 0, int64(0)
	for _, c := range p.customers {
		b := c.seen()
		records, resting, transitions = records+b.records, resting+b.resting, transitions+b.transitions
	}
	p.t.line("%5.1fs  %d of %d records at rest, %d transitions", time.Since(p.began).Seconds(), resting, records, transitions)
}

// draw replaces the bars on the terminal, in one write.
func (p progress) draw() {
	var b strings.Builder
	fmt.Fprint(&b, p.erase())
	for _, c := range p.customers {
		seen, whole := c.seen(), c.records
		if c.role.Open == nil {
			whole = seen.records
		}
		fmt.Fprintf(&b, "%s %s %3d of %3d at rest %6d transitions\n",
			pad(c.name(), 14), p.t.paint(green, bar(seen.resting, whole)), seen.resting, whole, seen.transitions)
	}
	*p.drawn = len(p.customers)
	fmt.Fprint(p.t.out, b.String())
}

// clear removes the bars.
func (p progress) clear() { fmt.Fprint(p.t.out, p.erase()) }

// erase returns what removes the bars.
func (p progress) erase() string {
	if *p.drawn == 0 {
		return ""
	}
	n := *p.drawn
	*p.drawn = 0
	return fmt.Sprintf("\x1b[%dA\x1b[J", n)
}

// bar is done of whole as a bar.
func bar(done, whole int) string {
	const width = 30
	n := min(width, done*width/max(whole, 1))
	return strings.Repeat("█", n) + strings.Repeat("·", width-n)
}
