package service

import (
	"database/sql"
	"time"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/gc"
	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/generated/publish"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/generated/upload"
	"github.com/fsmgen/fsmgen/generated/wal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

type tx = *sql.Tx

// Machines returns all ten machines in the order in which they are shown.
func Machines(o Outside) []Machine {
	return []Machine{
		{deal.Define[tx](dealHandlers{o}, dealParams()), false, func(in In) Callers {
			c := deal.In(in.Engine)
			return play(in, 0, dealScenario(), c.Calls.Calls, c.Records)
		}},
		{registration.Define[tx](registrationHandlers{o}, registrationParams()), false, func(in In) Callers {
			c := registration.In(in.Engine)
			return play(in, 1, registrationScenario(), c.Calls.Calls, c.Records)
		}},
		{download.Define[tx](downloader{o}, download.DefaultParams()), false, func(in In) Callers {
			c := download.In(in.Engine)
			return play(in, 2, downloadScenario(o), c.Calls.Calls, c.Records)
		}},
		{unpack.Define[tx](unpacker{o}, unpack.DefaultParams()), true, func(in In) Callers {
			c := unpack.In(in.Engine)
			return play(in, 3, started[unpack.Payload](func(r *unpack.Record) bool { return r.State.Terminal() }), c.Calls.Calls, c.Records)
		}},
		{activate.Define[tx](activator{o}), true, func(in In) Callers {
			c := activate.In(in.Engine)
			return play(in, 4, started[activate.Payload](func(r *activate.Record) bool { return r.State.Terminal() }), c.Calls.Calls, c.Records)
		}},
		{upload.Define[tx](uploadHandlers{o}), false, func(in In) Callers {
			c := upload.In(in.Engine)
			return play(in, 5, uploadScenario(o), c.Calls.Calls, c.Records)
		}},
		{publish.Define[tx](publishHandlers{o}), false, func(in In) Callers {
			c := publish.In(in.Engine)
			return play(in, 6, publishScenario(), c.Calls.Calls, c.Records)
		}},
		{gc.Define[tx](collector{o}, gc.Params{Retention: time.Minute}), false, func(in In) Callers {
			c := gc.In(in.Engine)
			return play(in, 7, gcScenario(o), c.Calls.Calls, c.Records)
		}},
		{outbox.Define[tx](outboxHandlers{}, outbox.Params{MaxAttempts: 3, Lease: time.Minute}), false, func(in In) Callers {
			c := outbox.In(in.Engine)
			return play(in, 8, outboxScenario(), c.Calls.Calls, c.Records)
		}},
		{wal.Define[tx](walHandlers{o}, wal.Params{MaxAttempts: maxClaims, ClaimTimeout: 4 * time.Minute}), false, func(in In) Callers {
			c := wal.In(in.Engine)
			return play(in, 9, walScenario(o), c.Calls.Calls, c.Records)
		}},
	}
}

// started is the scenario of records that another machine starts and the worker moves.
func started[P fsm.Payload, R fsm.Record](terminal func(R) bool) scenario[P, R] {
	return scenario[P, R]{next: func(r R, _ point) move[P] { return move[P]{rest: terminal(r)} }}
}
