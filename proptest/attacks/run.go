package attacks

import (
	"context"
	"fmt"
	"strings"
)

// Database is a prepared database.
type Database interface {
	// Dialect is that of the statements which it takes.
	Dialect() Dialect
	// IDs are those of the fixture's records, by name.
	IDs() map[string]string
	// Has reports whether the database has the role.
	Has(Role) bool
	// Try runs statements in one transaction as a role, up to the checks of its
	// commit, and rolls back. It returns how many rows were changed.
	Try(ctx context.Context, role Role, statements []string) (changed int64, err error)
	// Refusal returns what names the rule that err comes from; false if err is not a
	// refusal by a rule or a missing privilege.
	Refusal(err error) (string, bool)
}

// Verdict is what came of an attack.
type Verdict struct {
	Dialect Dialect
	Attack  Attack
	Role    Role
	Refused bool
	By      string // what refused it
	// Wrong says what is not as the attack has it; "" if nothing is.
	Wrong string
}

// Run tries attacks on a database, each as every role that it is for.
func Run(ctx context.Context, db Database, list []Attack) []Verdict {
	var out []Verdict
	for _, a := range list {
		for _, role := range a.roles(db.Dialect()) {
			if len(a.statements(db.Dialect())) > 0 && db.Has(role) {
				out = append(out, try(ctx, db, a, role))
			}
		}
	}
	return out
}

func try(ctx context.Context, db Database, a Attack, role Role) Verdict {
	var statements []string
	for _, s := range a.statements(db.Dialect()) {
		statements = append(statements, fill(s, db.IDs()))
	}
	changed, err := db.Try(ctx, role, statements)
	v := Verdict{Dialect: db.Dialect(), Attack: a, Role: role}
	if err != nil {
		v.By, v.Refused = db.Refusal(err)
	}
	switch {
	case err != nil && !v.Refused:
		v.Wrong = fmt.Sprintf("it fails, and not by a rule: %v", err)
	case v.Refused && a.Free != "":
		v.Wrong = fmt.Sprintf("it is said to be free (%s), and is refused: %v", a.Free, err)
	case v.Refused && !strings.Contains(v.By, a.Refused):
		v.Wrong = fmt.Sprintf("it is refused by %s, not by %s: %v", v.By, a.Refused, err)
	case err == nil && changed == 0:
		v.Wrong = "it changes nothing"
	case err == nil && a.Free == "":
		v.Wrong = fmt.Sprintf("it is not refused, and changes %d rows", changed)
	}
	return v
}
