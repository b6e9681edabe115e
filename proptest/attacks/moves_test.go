package attacks

import "testing"

// The moves that attacks begin with are what the machine does: the databases accept
// them as they are.
func TestMovesAreAccepted(t *testing.T) {
	for _, db := range []Database{SQLite(t), Postgres(t)} {
		role := Ordinary
		if db.Has(AnyFile) {
			role = AnyFile
		}
		for _, m := range moves() {
			var statements []string
			for _, s := range m.statements() {
				statements = append(statements, fill(s, db.IDs()))
			}
			if n, err := db.Try(t.Context(), role, statements); err != nil || n != 2 {
				t.Errorf("%s: %s: %d rows, %v", db.Dialect(), m, n, err)
			}
		}
	}
}
