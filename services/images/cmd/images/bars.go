package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/fsmgen/fsmgen/services/images"
)

// throttle is how often a bar is drawn at most.
const throttle = 100 * time.Millisecond

// bars shows how far the work is: a bar for each image and phase on a terminal,
// else a line when a phase begins and one when it ends.
type bars struct {
	out      io.Writer
	terminal bool
	mu       sync.Mutex
	bar      *progressbar.ProgressBar
	shown    string          // whose bar is drawn
	begun    map[string]bool // of what a line was printed
	ended    map[string]bool
}

func newBars(out io.Writer, terminal bool) *bars {
	return &bars{out: out, terminal: terminal, begun: map[string]bool{}, ended: map[string]bool{}}
}

// listen is an images.Listener.
func (b *bars) listen(image string, phase images.Phase, done, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	title := string(phase) + " " + image
	if b.terminal {
		b.draw(title, done, total)
		return
	}
	if !b.begun[title] {
		b.begun[title] = true
		fmt.Fprintf(b.out, "%s: %d bytes\n", title, total)
	}
	if done == total && !b.ended[title] {
		b.ended[title] = true
		fmt.Fprintf(b.out, "%s: done\n", title)
	}
}

// draw moves the bar; of several images at once the one that reports last is
// shown.
func (b *bars) draw(title string, done, total int64) {
	if b.shown != title {
		b.clear()
		b.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(b.out), progressbar.OptionSetDescription(title),
			progressbar.OptionShowBytes(true), progressbar.OptionThrottle(throttle), progressbar.OptionClearOnFinish())
		b.shown = title
	}
	_ = b.bar.Set64(done) // a bar that can't be drawn is no failure
}

func (b *bars) clear() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}

// end takes the bar away.
func (b *bars) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.terminal {
		b.clear()
	}
}
