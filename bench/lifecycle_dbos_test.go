package bench

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
)

// workflows are orders as workflows of DBOS Transact: a step for each of the order's, started
// directly, without a queue, on the 20 connections that it opens by default. Only its own tables have the order: there is no other record.
type workflows struct {
	server   *server
	context  dbos.Context
	payments *payments
}

// workflowOrder is what the steps of a workflow pass on, and DBOS stores as their output.
type workflowOrder struct {
	ID      string `json:"id"`
	State   string `json:"state"`
	Total   int64  `json:"total"`
	Receipt string `json:"receipt,omitempty"`
}

func newWorkflows(b *testing.B, dsn string, p *payments) *workflows {
	b.Helper()
	w := &workflows{server: newSchema(b, dsn), payments: p}
	c, err := dbos.NewContext(context.Background(), dbos.Config{
		AppName: "fsmgen-bench", DatabaseURL: dsn, DatabaseSchema: w.server.schema, Logger: slog.New(slog.DiscardHandler),
	})
	must(b, err)
	w.context = c
	dbos.RegisterWorkflow(c, w.lifecycle)
	must(b, dbos.Launch(c))
	b.Cleanup(func() { must(b, dbos.Shutdown(c, 10*time.Second)) })
	return w
}

// lifecycle is the workflow.
func (w *workflows) lifecycle(c dbos.Context, id string) (workflowOrder, error) {
	o := workflowOrder{ID: id, Total: total}
	steps := []struct {
		state string
		do    func(context.Context) error
	}{
		{state: "placed"},
		{state: "reserved"},
		{state: "charged", do: func(ctx context.Context) (err error) {
			o.Receipt, err = w.payments.charge(ctx, o.ID, o.Total)
			return err
		}},
		{state: "shipped"},
	}
	for _, step := range steps {
		after, err := dbos.RunAsStep(c, func(ctx context.Context) (workflowOrder, error) {
			if step.do != nil {
				if err := step.do(ctx); err != nil {
					return o, err
				}
			}
			o.State = step.state
			return o, nil
		}, dbos.WithStepName(step.state))
		if err != nil {
			return o, err
		}
		o = after
	}
	return o, nil
}

func (w *workflows) complete(context.Context) error {
	handle, err := dbos.RunWorkflow(w.context, w.lifecycle, random())
	if err != nil {
		return err
	}
	_, err = handle.GetResult()
	return err
}

func (w *workflows) completed(b *testing.B) (count int) {
	b.Helper()
	must(b, w.server.pool.QueryRow(context.Background(), `SELECT count(*) FROM workflow_status WHERE status = 'SUCCESS'`).Scan(&count))
	return count
}
