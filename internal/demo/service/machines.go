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
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

type tx = *sql.Tx

// Machines returns all ten machines in the order in which they are shown.
func Machines(o Outside) []Machine {
	return []Machine{
		{deal.Define[tx](dealHandlers{o}, dealParams()), false, func(e *engine.Engine[tx]) Callers {
			c := deal.In(e)
			return play(dealScenario(), 0, c.Calls.Calls, c.Client.Records)
		}},
		{registration.Define[tx](registrationHandlers{o}, registrationParams()), false, func(e *engine.Engine[tx]) Callers {
			c := registration.In(e)
			return play(registrationScenario(), 1, c.Calls.Calls, c.Client.Records)
		}},
		{download.Define[tx](downloader{o}, download.DefaultParams()), false, func(e *engine.Engine[tx]) Callers {
			c := download.In(e)
			return play(downloadScenario(o), 2, c.Calls.Calls, c.Client.Records)
		}},
		{unpack.Define[tx](unpacker{o}, unpack.DefaultParams()), true, func(e *engine.Engine[tx]) Callers {
			c := unpack.In(e)
			return play(started[unpack.Payload](func(r *unpack.Record) bool { return r.State.Terminal() }), 3, c.Calls.Calls, c.Client.Records)
		}},
		{activate.Define[tx](activator{o}), true, func(e *engine.Engine[tx]) Callers {
			c := activate.In(e)
			return play(started[activate.Payload](func(r *activate.Record) bool { return r.State.Terminal() }), 4, c.Calls.Calls, c.Client.Records)
		}},
		{upload.Define[tx](uploadHandlers{o}), false, func(e *engine.Engine[tx]) Callers {
			c := upload.In(e)
			return play(uploadScenario(o), 5, c.Calls.Calls, c.Client.Records)
		}},
		{publish.Define[tx](publishHandlers{o}), false, func(e *engine.Engine[tx]) Callers {
			c := publish.In(e)
			return play(publishScenario(), 6, c.Calls.Calls, c.Client.Records)
		}},
		{gc.Define[tx](collector{o}, gc.Params{Retention: time.Minute}), false, func(e *engine.Engine[tx]) Callers {
			c := gc.In(e)
			return play(gcScenario(o), 7, c.Calls.Calls, c.Client.Records)
		}},
		{outbox.Define[tx](outboxHandlers{}, outbox.Params{MaxAttempts: 3, Lease: time.Minute}), false, func(e *engine.Engine[tx]) Callers {
			c := outbox.In(e)
			return play(outboxScenario(), 8, c.Calls.Calls, c.Client.Records)
		}},
		{wal.Define[tx](walHandlers{o}, wal.Params{MaxAttempts: maxClaims, ClaimTimeout: 4 * time.Minute}), false, func(e *engine.Engine[tx]) Callers {
			c := wal.In(e)
			return play(walScenario(o), 9, c.Calls.Calls, c.Client.Records)
		}},
	}
}

// started is the scenario of records that another machine starts and the worker moves.
func started[P fsm.Payload, R fsm.Record](terminal func(R) bool) scenario[P, R] {
	return scenario[P, R]{next: func(r R, _ point) move[P] { return move[P]{rest: terminal(r)} }}
}
