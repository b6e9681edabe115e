package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	machine "github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/services/deal"
)

func newReconcile(w world) *cobra.Command {
	s := &serve{world: w, params: machine.DefaultParams(), reconciles: true}
	c := &cobra.Command{
		Use:   "reconcile",
		Short: "Compare the chain with the books",
		Long: `Compare what all wallets have on the chain with what the ledger says, and print every
difference. It changes no deal and no entry, and may run beside daemons: what is under way, or not
booked yet, explains a difference and is listed. Exit code 1 if chain and books differ.`,
		Example: `  deald reconcile --ton global.config.json --wallet-key wallet.key
  deald reconcile --ton global.config.json --wallet-key wallet.key --json`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if s.network == "" || s.walletKey == "" {
				return usageError{errors.New("--ton and --wallet-key are needed")}
			}
			return s.run(c)
		},
	}
	s.partsFlags(c)
	c.Flags().BoolVar(&s.json, "json", false, "print it as JSON")
	return c
}

// errDiffer is the end of a reconciliation that found a difference.
var errDiffer = errors.New("chain and books differ")

func reconcile[T any](ctx context.Context, s *serve, service *deal.Service[T]) error {
	r, err := service.Reconcile(ctx)
	if err != nil {
		return err
	}
	if s.json {
		e := json.NewEncoder(s.out)
		e.SetIndent("", "  ")
		if err := e.Encode(r); err != nil {
			return err
		}
	} else {
		s.print(r)
	}
	if r.Difference != 0 {
		return fmt.Errorf("%w by %d nano", errDiffer, r.Difference)
	}
	return nil
}

func (s *serve) print(r deal.Reconciliation) {
	fmt.Fprintf(s.out, "block       %d of %s\n", r.Seqno, r.Time.UTC().Format(time.RFC3339))
	for _, line := range []struct {
		name string
		nano int64
	}{{"escrow", r.Escrow}, {"deposits", r.Deposits}, {"books", r.Books}, {"difference", r.Difference}} {
		fmt.Fprintf(s.out, "%-10s %d nano\n", line.name, line.nano)
	}
	for _, a := range r.Behind {
		fmt.Fprintf(s.out, "not booked yet: what has come to %s\n", a)
	}
	for _, t := range r.UnderWay {
		fmt.Fprintf(s.out, "under way: transfer %s of deal %s, a %s of %d nano, is %s\n", t.Transfer, t.Deal, t.Kind, t.Nano, t.Status)
	}
}
