package store

import (
	"fmt"
	"slices"
	"strings"
)

// DriftError is returned when the database has other functions, triggers, constraints or indices for
// a machine than this program was generated with: the table of the machine has changed
// since, or an operator changed them by hand. errors.Is finds ErrDrift.
type DriftError struct{ Machines []Drift }

// Drift lists the differences of one machine.
type Drift struct {
	Machine     string
	Version     string   // of the machine in this program
	Deployed    string   // the latest version that has migrated this database
	Differences []string // like "trigger deal_update of deals is not there", sorted
}

// Later reports whether a later version than this program's was deployed.
func (d Drift) Later() bool { return compareVersions(d.Deployed, d.Version) > 0 }

func (d Drift) String() string {
	return fmt.Sprintf("machine %s, version %s: %s", d.Machine, d.Version, strings.Join(d.Differences, ", "))
}

func (e *DriftError) Error() string {
	list := make([]string, len(e.Machines))
	for i, d := range e.Machines {
		list[i] = d.String()
	}
	return "the database differs from what this program was generated with: " + strings.Join(list, "; ") +
		": apply the schema of this version, or run the version that the database was made for"
}

// Is makes errors.Is(err, ErrDrift) hold.
func (e *DriftError) Is(target error) bool { return target == ErrDrift }

// The kinds of schema objects.
const (
	FunctionObject   = "function"
	TriggerObject    = "trigger"
	ConstraintObject = "constraint"
	IndexObject      = "index"
)

// SchemaObject names an object of a database's schema.
type SchemaObject struct{ Kind, Table, Name string }

func (o SchemaObject) String() string {
	if o.Table == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Name + " of " + o.Table
}

// Differences compares the schema objects that a machine wants with those that exist, each
// with its definition; an empty definition means disabled. A trigger that is not wanted
// counts if its name begins with the machine's, and it is on a table that wants triggers. The
// texts are sorted.
func Differences(machine string, wanted, there map[SchemaObject]string) (list []string) {
	own := map[string]bool{} // tables with triggers
	for o, definition := range wanted {
		own[o.Table] = own[o.Table] || o.Kind == TriggerObject
		found, ok := there[o]
		switch {
		case !ok:
			list = append(list, o.String()+" is not there")
		case found == "" && definition != "":
			list = append(list, o.String()+" is disabled")
		case found != definition:
			list = append(list, o.String()+" is another")
		}
	}
	for o := range there {
		if _, ok := wanted[o]; !ok && o.Kind == TriggerObject && own[o.Table] && strings.HasPrefix(o.Name, machine+"_") {
			list = append(list, o.String()+" is of another version")
		}
	}
	slices.Sort(list)
	return list
}
