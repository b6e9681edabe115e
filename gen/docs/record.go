package docs

import "github.com/fsmgen/fsmgen/gen/ir"

func storageIntro(m *ir.Machine) string {
	s := "Table " + code(m.Storage.Table) + ", state in column " + code(m.Storage.State) + "; history in " + code(m.Storage.History)
	if m.Storage.Partition {
		s += ", partitioned by " + code("created_at")
	}
	return s + "."
}

func fields(m *ir.Machine) *table {
	t := newTable("Field", "Type", "Default", "Rules", "Description")
	t.add(code(m.ID.Text), code(typeText(m.ID.Type)), "", commas(append([]string{"identity"}, fieldRules(m.ID)...)), prose(m.ID.Doc))
	for _, f := range m.Fields {
		t.add(code(f.Text), code(typeText(f.Type)), defaultOf(f), commas(fieldRules(f)), prose(f.Doc))
	}
	return t
}

func defaultOf(f *ir.Field) string {
	if !f.HasDefault {
		return ""
	}
	return code(valueText(f.Default))
}

func uniques(m *ir.Machine) *table {
	t := newTable("Key", "Fields", "Among", "Description")
	for _, u := range m.Uniques {
		t.add(code(u.Text), codes(names(u.Fields)), among(u), prose(u.Doc))
	}
	return t
}

func among(u *ir.Unique) string {
	if u.WhileActive {
		return "records in states that are not terminal"
	}
	return "all records"
}

func params(m *ir.Machine) *table {
	t := newTable("Parameter", "Type", "Default", "Description")
	for _, p := range m.Params {
		t.add(code(p.Text), code(typeText(p.Type)), code(valueText(p.Default)), prose(p.Doc))
	}
	return t
}

func enums(m *ir.Machine) *table {
	t := newTable("Enumeration", "Values", "Description")
	for _, e := range m.Enums {
		t.add(code(e.Text), codes(names(e.Values)), prose(e.Doc))
	}
	return t
}

func columns(of *ir.Table) *table {
	t := newTable("Column", "Type", "Default", "Rules", "Description")
	for _, c := range of.Columns {
		t.add(code(c.Text), code(typeText(c.Type)), defaultOf(c), commas(fieldRules(c)), prose(c.Doc))
	}
	return t
}
