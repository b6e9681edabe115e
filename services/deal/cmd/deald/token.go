package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/services/deal/access"
)

func newToken(w world) *cobra.Command {
	var keys string
	var caller access.Caller
	var valid time.Duration
	c := &cobra.Command{
		Use:   "token",
		Short: "Print a token that names a user",
		Long: `Print a token for the HTTP API. It names a user, and what the platform lets the user
be. What the user is in a deal, the deal says.`,
		Example: `  deald token --keys tokens.key --user 7
  deald token --keys tokens.key --user 1 --operator --for 8h
  deald token --keys tokens.key --user 9 --admin-of 8`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if keys == "" || caller.ID < 1 || valid <= 0 {
				return usageError{errors.New("--keys names the file with the keys, --user a user from 1 up, --for a time above 0")}
			}
			tokens, err := access.New(access.Config{KeyFile: keys, Audience: audience, Now: w.now})
			if err != nil {
				return err
			}
			token, err := tokens.Sign(caller, w.now().Add(valid))
			if err != nil {
				return err
			}
			fmt.Fprintln(c.OutOrStdout(), token)
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&keys, "keys", "", "`file` with the keys of tokens, one a line; the first signs")
	f.Int64Var(&caller.ID, "user", 0, "`number` of the user")
	f.BoolVar(&caller.Operator, "operator", false, "the user is an operator of the platform")
	f.Int64SliceVar(&caller.AdminOf, "admin-of", nil, "`owners` whose channels the user administers")
	f.DurationVar(&valid, "for", time.Hour, "how long the token is accepted")
	return c
}
