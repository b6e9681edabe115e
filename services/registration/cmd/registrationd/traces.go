package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/fsmgen/fsmgen/adapters/otel"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/services/registration"
)

// openTraces appends spans to a file. end writes what is left.
func openTraces(path string) (trace engine.TraceFunc, end func() error, err error) {
	const private = 0o600
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, private)
	if err != nil {
		return nil, nil, err
	}
	spans, err := stdouttrace.New(stdouttrace.WithWriter(file))
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(spans))
	end = func() error {
		const patience = time.Second
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		return errors.Join(provider.Shutdown(ctx), file.Close())
	}
	return registration.OneTrace(otel.Trace(provider)), end, nil
}

// logEnd tells of spans that were lost: no reason for the daemon to have failed.
func logEnd(logger *slog.Logger, err error) {
	if err != nil {
		logger.Warn("spans were lost", "error", err)
	}
}
