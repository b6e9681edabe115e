package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// patience is how long the durable act may take before something is wrong.
const patience = 5 * time.Minute

// durable runs all ten machines on a database file: customers in this process,
// the worker in a child process that is killed in the middle.
func durable(t *transcript, o options) (err error) {
	t.title("All ten machines, on a database file")
	s := setting{folder: o.folder, clock: acceleratedClock{time.Now()}}
	if s.folder == "" {
		if s.folder, err = os.MkdirTemp("", "fsmgen-demo-"); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	st, err := open(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	if err := st.migrate(ctx); err != nil {
		return err
	}
	t.line("%d records a machine; unpack and activate are started by the machine before them", o.records)
	t.line("the clock runs %d times as fast; the systems outside are stand-ins: folders", speed)
	t.line("")
	d := &director{t: t, o: o, stage: st, began: time.Now()}
	if err := d.play(ctx); err != nil {
		return err
	}
	return report(ctx, t, st, d)
}

// director runs the durable act.
type director struct {
	t         *transcript
	o         options
	stage     *stage
	began     time.Time
	customers []*customers
	worker    *child
	failed    chan error // of customers
	progress  progress
	cut       []cutShort // what the killed worker had in hand
}

// cutShort is an effect whose worker was killed.
type cutShort struct{ id, machine, effect, delivery string }

// play opens the shop, kills the worker, starts another one, and waits until
// nothing is left to do.
func (d *director) play(ctx context.Context) (err error) {
	if d.worker, err = spawn(d.stage.setting); err != nil {
		return err
	}
	defer func() {
		if d.worker != nil {
			err = errors.Join(err, d.worker.kill())
		}
	}()
	serving, leave := context.WithCancel(ctx)
	var open sync.WaitGroup
	defer func() {
		leave()
		open.Wait()
	}()
	d.failed = make(chan error, len(d.stage.cast))
	for place := range d.stage.cast {
		c := newCustomers(d.stage, place, d.o.records)
		d.customers = append(d.customers, c)
		open.Go(func() {
			if err := c.serve(serving); err != nil {
				d.failed <- err
			}
		})
	}
	d.progress = newProgress(d.t, d.o.live, d.customers, d.began)
	return d.acts(ctx)
}

// acts are what happens in order while the customers are at it.
func (d *director) acts(ctx context.Context) error {
	if err := d.until(ctx, d.inTheMiddle); err != nil {
		return err
	}
	if err := d.killAndRestart(ctx); err != nil {
		return err
	}
	if err := d.until(ctx, d.allDone); err != nil {
		return err
	}
	if err := d.mend(ctx); err != nil {
		return err
	}
	if err := d.until(ctx, d.allDone); err != nil {
		return err
	}
	worker := d.worker
	d.worker = nil
	if err := worker.stop(); err != nil {
		return err
	}
	d.say("worker %d was told to stop (SIGTERM) and has", worker.pid())
	return nil
}

// until waits until condition holds, and shows the progress meanwhile.
func (d *director) until(ctx context.Context, condition func(context.Context) (bool, error)) error {
	const pause = 40 * time.Millisecond
	for {
		if ok, err := condition(ctx); ok || err != nil {
			return err
		}
		d.progress.show()
		select {
		case err := <-d.failed:
			return err
		case err := <-d.worker.ended:
			d.worker = nil
			return fmt.Errorf("the worker ended by itself: %w", errors.Join(errors.New("see "+d.stage.logFile()), err))
		case <-ctx.Done():
			return fmt.Errorf("after %s there is still something to do, see %s: %s", patience, d.stage.database(), d.restless())
		case <-time.After(pause):
		}
	}
}

// restless lists the records that are not at rest.
func (d *director) restless() string {
	var list []string
	for _, c := range d.customers {
		list = append(list, c.seen().restless...)
	}
	return strings.Join(list, ", ")
}

// say prints a line below which the progress goes on.
func (d *director) say(format string, args ...any) {
	d.progress.clear()
	d.t.line("%5.1fs  %s", time.Since(d.began).Seconds(), fmt.Sprintf(format, args...))
}

// inTheMiddle holds once half of the records are open and the worker is busy
// with an extraction, which must not be attempted twice; later, with anything.
func (d *director) inTheMiddle(ctx context.Context) (bool, error) {
	opened, resting, wanted := 0, 0, 0
	for _, c := range d.customers {
		b := c.seen()
		opened += b.opened
		resting += b.resting
		if c.role.Open != nil {
			wanted += c.records
		}
	}
	if opened < wanted/2 {
		return false, nil
	}
	what := "delivery = 'at_most_once' AND "
	if resting > wanted*2/3 {
		what = ""
	}
	n, err := d.stage.number(ctx, "SELECT count(*) FROM fsm_outbox WHERE "+what+"state = 'delivering'")
	if n > 0 || err != nil {
		return true, err
	}
	return d.allDone(ctx) // too late, and better than never
}

// killAndRestart kills the worker in the middle of what it is doing. Nothing of
// this is announced to it.
func (d *director) killAndRestart(ctx context.Context) error {
	worker := d.worker
	d.worker = nil
	if err := worker.kill(); err != nil {
		return err
	}
	err := d.stage.rows(ctx, func(r *sql.Rows) error {
		var c cutShort
		err := r.Scan(&c.id, &c.machine, &c.effect, &c.delivery)
		d.cut = append(d.cut, c)
		return err
	}, "SELECT message_id, machine, effect, delivery FROM fsm_outbox WHERE state = 'delivering' ORDER BY delivery, machine, effect")
	if err != nil {
		return err
	}
	d.say("%s", d.t.paint(red, fmt.Sprintf("worker %d killed (SIGKILL) with %d effects in hand: %s", worker.pid(), len(d.cut), classes(d.cut))))
	const outage = 400 * time.Millisecond
	select {
	case <-ctx.Done():
	case <-time.After(outage):
	}
	if d.worker, err = spawn(d.stage.setting); err != nil {
		return err
	}
	d.say("worker %d started; the leases of the dead one run out %s after the claim", d.worker.pid(), lease/speed)
	return nil
}

// allDone holds when no customer wants more, and the worker has nothing left
// that it may do: what waits behind a dead letter waits for a person.
func (d *director) allDone(ctx context.Context) (bool, error) {
	for _, c := range d.customers { // in the order of the chain: what one starts, the next one has
		if !c.seen().done(c) {
			return false, nil
		}
	}
	n, err := d.stage.number(ctx, "SELECT count(*) FROM fsm_outbox o WHERE "+unfinished)
	return n == 0, err
}

// mend is the operator: the dead letters of the deals get another chance, once
// what stood against them is removed. The others are left for you to look at.
func (d *director) mend(ctx context.Context) error {
	letters, err := d.stage.engine.DeadLetters(ctx, engine.Filter{Machine: "deal"}, "", 0)
	if err != nil {
		return err
	}
	if err := d.stage.out.Mend(); err != nil {
		return err
	}
	for _, letter := range letters {
		if err := d.stage.engine.Requeue(ctx, letter.MessageID, "demo", "the owner has unblocked the bot"); err != nil {
			return err
		}
	}
	d.say("the operator mends what the dead letters of the deals met and requeues them: %d", len(letters))
	return nil
}
