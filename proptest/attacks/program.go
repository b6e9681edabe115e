package attacks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/parts"
)

// program is a prepared file in the hands of the program sqlite3, which is the least
// version that a schema is for.
type program struct {
	*sqliteDatabase
	path string
}

// Program prepares a file for the program sqlite3. Each attack has a copy of it, and
// is committed.
func Program(t testing.TB) Database {
	t.Helper()
	path := os.Getenv("FSMGEN_SQLITE3")
	if path == "" {
		found, err := exec.LookPath("sqlite3")
		if err != nil {
			parts.Missing(t, "there is no program sqlite3")
		}
		path = found
	}
	db, ok := SQLite(t).(*sqliteDatabase)
	if !ok {
		t.Fatal("SQLite prepares no file")
	}
	return &program{db, path}
}

// constrained is how the program ends the message of a constraint or a trigger.
const constrained = "(19)"

// programError is what the program said as it failed.
type programError struct{ said string }

func (e *programError) Error() string { return e.said }

// Try has the program run the statements, with the settings that it begins with:
// foreign_keys and recursive_triggers are off.
func (p *program) Try(ctx context.Context, _ Role, statements []string) (changed int64, err error) {
	path := filepath.Join(p.dir, "attacked.db")
	if err := os.WriteFile(path, p.file, 0o600); err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, p.path, "-batch", "-bail", "-init", "/dev/null", path)
	cmd.Stdin = strings.NewReader("BEGIN;\n" + strings.Join(statements, ";\n") + ";\nSELECT total_changes();\nCOMMIT;\n")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return 0, &programError{strings.TrimSpace(said.String())}
	}
	lines := strings.Fields(out.String())
	if len(lines) == 0 {
		return 0, fmt.Errorf("the program printed nothing: %s", &said)
	}
	return strconv.ParseInt(lines[len(lines)-1], 10, 64)
}

// Refusal knows the code of constraints and triggers; the rule is in the message.
func (p *program) Refusal(err error) (string, bool) {
	var failed *programError
	if !errors.As(err, &failed) {
		return "", false
	}
	return failed.said, strings.Contains(failed.said, constrained)
}
