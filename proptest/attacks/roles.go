package attacks

import (
	"os"
	"testing"
)

// rolesScript is the script of roles of the generated packages.
const rolesScript = "../../generated/roles.sql"

// Owner may change the rules, and so is no attacker.
const Owner Role = "owner"

// grantRoles makes the roles of the schema as an operator does. They go with the test.
func (d *postgresDatabase) grantRoles(t testing.TB, schema string) {
	t.Helper()
	script, err := os.ReadFile(rolesScript)
	if err != nil {
		t.Fatal(err)
	}
	d.exec(t, string(script))
	for _, role := range []Role{Engine, Service, Operator, Reader, Owner} {
		name := schema + "_" + string(role)
		d.roles[role] = name
		t.Cleanup(func() {
			d.exec(t, "DROP OWNED BY "+name+" CASCADE")
			d.exec(t, "DROP ROLE "+name)
		})
	}
}
