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

	"github.com/fsmgen/fsmgen/internal/demo/service"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// patience is how long the durable part may take before something is wrong.
const patience = 5 * time.Minute

// durable runs all eleven machines on a database file: callers in this process, the worker in a child
// process that is killed in the middle.
func durable(t *transcript, o options) (err error) {
	t.title("All eleven machines, on a database file")
	s := setting{folder: o.folder, clock: acceleratedClock{time.Now()}}
	if s.folder == "" {
		if s.folder, err = os.MkdirTemp("", "fsmgen-demo-"); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a, err := open(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	if err := a.migrate(ctx); err != nil {
		return err
	}
	t.line("%d records a machine; unpack and activate are started by the machine before them", o.records)
	t.line("the clock runs %d times as fast; the systems outside are folders", speed)
	t.line("")
	in := service.In{Engine: a.engine, Machines: a.machines, Clock: s.clock, Records: o.records}
	r := &demoRun{t: t, app: a, began: time.Now(), callers: service.CallersOf(in, a.out)}
	if err := r.steps(ctx); err != nil {
		return err
	}
	return report(ctx, t, a, r)
}

// demoRun is the durable part on its way.
type demoRun struct {
	t       *transcript
	app     *app
	began   time.Time
	said    time.Time         // when the last line of progress was
	next    time.Time         // when the next round is due
	callers []service.Callers // of each machine
	worker  *child
	cut     []cutEffect // what the killed worker was carrying out
}

// cutEffect is an effect whose worker was killed.
type cutEffect struct{ id, machine, effect, delivery string }

// steps are what happens in order while the callers fire.
func (r *demoRun) steps(ctx context.Context) (err error) {
	if r.worker, err = spawn(r.app.setting); err != nil {
		return err
	}
	defer func() { r.worker.release() }() // another one, after the kill
	for _, step := range []func(context.Context) error{
		r.until(r.inTheMiddle), r.killAndRestart, r.until(r.allDone), r.requeue, r.until(r.allDone),
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := r.worker.stop(); err != nil {
		return err
	}
	r.say("worker %d was told to stop (SIGTERM) and has", r.worker.pid())
	return nil
}

// until returns a step in which the callers fire until condition holds. It shows the progress.
func (r *demoRun) until(condition func(context.Context) (bool, error)) func(context.Context) error {
	const pause = 20 * time.Millisecond
	return func(ctx context.Context) error {
		for {
			if err := r.round(ctx); err != nil {
				return err
			}
			if ok, err := condition(ctx); ok || err != nil {
				return err
			}
			select {
			case <-r.worker.ended:
				return fmt.Errorf("see %s: %w", r.app.logFile(), errors.Join(errors.New("the worker ended by itself"), r.worker.how))
			case <-ctx.Done():
				return fmt.Errorf("after %s there is still something to do, see %s: %s", patience, r.app.database(), strings.Join(r.seen().Moving, ", "))
			case <-time.After(pause):
			}
		}
	}
}

// round has the callers of all machines fire at the same time, if it is due. On a busy machine
// rounds are rarer, so that the worker gets its share. Once a second it says how far the records are.
func (r *demoRun) round(ctx context.Context) error {
	const pause = 80 * time.Millisecond
	began := time.Now()
	if began.Before(r.next) {
		return nil
	}
	failures := make([]error, len(r.callers))
	var firing sync.WaitGroup
	for i, c := range r.callers {
		firing.Go(func() {
			if err := c.Round(ctx); err != nil {
				failures[i] = fmt.Errorf("callers of %s: %w", r.app.machines[i].Name(), err)
			}
		})
	}
	firing.Wait()
	r.next = time.Now().Add(max(pause, 2*time.Since(began)))
	if s := r.seen(); time.Since(r.said) >= time.Second {
		r.said = time.Now()
		r.say("%d of %d records at rest, %d transitions", s.Resting, s.Records, s.Transitions)
	}
	return errors.Join(failures...)
}

// seen adds up what the callers of all machines have seen.
func (r *demoRun) seen() (all service.Seen) {
	for _, c := range r.callers {
		all.Add(c.Seen())
	}
	return all
}

func (r *demoRun) say(format string, args ...any) {
	r.t.line("%5.1fs  %s", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// inTheMiddle holds once half of the records are open and the worker is carrying out an extraction,
// which must not be attempted twice; later, with any effect.
func (r *demoRun) inTheMiddle(ctx context.Context) (bool, error) {
	seen := r.seen()
	if seen.Opened < seen.Wanted/2 {
		return false, nil
	}
	what := "delivery = 'at_most_once' AND "
	if seen.Resting > seen.Wanted*2/3 {
		what = ""
	}
	n, err := r.app.number(ctx, "SELECT count(*) FROM fsm_outbox WHERE "+what+"state = 'delivering'")
	if n > 0 || err != nil {
		return true, err
	}
	return r.allDone(ctx) // too late, and better than never
}

// killAndRestart kills the worker in the middle of what it is doing, without notice.
func (r *demoRun) killAndRestart(ctx context.Context) error {
	if err := r.worker.kill(); err != nil {
		return err
	}
	err := r.app.rows(ctx, func(found *sql.Rows) error {
		var c cutEffect
		err := found.Scan(&c.id, &c.machine, &c.effect, &c.delivery)
		r.cut = append(r.cut, c)
		return err
	}, "SELECT message_id, machine, effect, delivery FROM fsm_outbox WHERE state = 'delivering' ORDER BY delivery, machine, effect")
	if err != nil {
		return err
	}
	r.say("%s", r.t.paint(red, fmt.Sprintf("worker %d killed (SIGKILL) while it carried out %d effects: %s", r.worker.pid(), len(r.cut), classes(r.cut))))
	const outage = 400 * time.Millisecond
	for killed := time.Now(); time.Since(killed) < outage; time.Sleep(time.Until(r.next)) {
		if err := r.round(ctx); err != nil {
			return err
		}
	}
	if r.worker, err = spawn(r.app.setting); err != nil {
		return err
	}
	r.say("worker %d started; the leases of the killed one end %s after the claim", r.worker.pid(), lease/speed)
	return nil
}

// allDone holds when no caller wants more, and the worker has nothing left that it may do: what
// waits behind a dead letter waits for a person.
func (r *demoRun) allDone(ctx context.Context) (bool, error) {
	if !r.seen().Done() {
		return false, nil
	}
	n, err := r.app.number(ctx, "SELECT count(*) FROM fsm_outbox o WHERE "+unfinished)
	return n == 0, err
}

// requeue is the operator: the dead letters of the deals get another chance, once their cause is
// removed. The others stay for you to look at.
func (r *demoRun) requeue(ctx context.Context) error {
	dead, err := r.app.engine.DeadLetters(ctx, engine.Filter{Machine: "deal"}, "", 0)
	if err != nil {
		return err
	}
	if err := r.app.out.Unblock(); err != nil {
		return err
	}
	for _, m := range dead {
		if err := r.app.engine.Requeue(ctx, m.MessageID, "demo", "the owner has unblocked the bot"); err != nil {
			return err
		}
	}
	r.say("the operator removes the cause of the dead letters of the deals and requeues them: %d", len(dead))
	return nil
}
