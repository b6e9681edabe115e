package attacks

import "fmt"

// Dialect is a database that attacks are written for.
type Dialect string

// The dialects.
const (
	InPostgres Dialect = "postgres"
	InSQLite   Dialect = "sqlite"
)

// Dialects lists the dialects in the order of the report.
func Dialects() []Dialect { return []Dialect{InPostgres, InSQLite} }

// Target is what an attack is on.
type Target string

// The targets, in the order of the report.
const (
	Record   Target = "record"   // a machine's record table
	History  Target = "history"  // its history
	Messages Target = "messages" // the engine's own tables: messages, deadlines, keys
	File     Target = "file"     // what the database itself offers: replacing, shadowing, recursion
)

// Role is who attacks.
type Role string

// The roles. Ordinary is any role of PostgreSQL that may read and write every table
// and owns none. AnyFile is any user that can write the SQLite file.
const (
	Ordinary Role = "ordinary"
	Engine   Role = "engine"
	Service  Role = "service"
	Operator Role = "operator"
	Reader   Role = "reader"
	AnyFile  Role = "file"
)

// Attack is a few statements that do what no engine does. {name} stands for the id
// of a record of the fixture, quoted.
type Attack struct {
	Name string
	On   Target
	// SQL runs in both databases. Postgres and SQLite run in one of them, in the
	// place of SQL.
	SQL, Postgres, SQLite []string
	// As are the roles of PostgreSQL that try it; nil is Ordinary. SQLite has AnyFile
	// only.
	As []Role
	// Refused is part of the refusal: the name of a rule, or its SQLSTATE. "" is any
	// rule of ours.
	Refused string
	// Free says why the attack is not refused. It then has to succeed.
	Free string
}

// statements are those of a dialect; none where the attack is not for it.
func (a Attack) statements(in Dialect) []string {
	var own []string
	switch in {
	case InPostgres:
		own = a.Postgres
	case InSQLite:
		own = a.SQLite
	default:
		panic(fmt.Errorf("attacks: no statements for the dialect %q", in))
	}
	if own != nil {
		return own
	}
	return a.SQL
}

// roles are those that try the attack in a dialect.
func (a Attack) roles(in Dialect) []Role {
	switch in {
	case InSQLite:
		return []Role{AnyFile}
	case InPostgres:
		if a.As == nil {
			return []Role{Ordinary}
		}
		return a.As
	}
	panic(fmt.Errorf("attacks: no roles for the dialect %q", in))
}

// All lists every attack of the suite.
func All() []Attack {
	var list []Attack
	for _, part := range [][]Attack{recordAttacks(), historyAttacks(), messageAttacks(), engineAttacks(), fileAttacks()} {
		list = append(list, part...)
	}
	return list
}
