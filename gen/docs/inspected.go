package docs

import "github.com/fsmgen/fsmgen/gen/ir"

// Inspected returns m as tools see it.
func Inspected(m *ir.Machine) Inspection {
	return Inspection{
		Machine:     m.Text,
		Version:     m.Version,
		Doc:         m.Doc,
		States:      each(m.States, stateInfo),
		Transitions: each(m.Rows, rowInfo),
		Events:      each(m.Events, eventInfo),
		Effects:     each(m.Effects, effectInfo),
		Invariants: each(m.Invariants, func(inv *ir.Invariant) PromiseInfo {
			return PromiseInfo{inv.Text, InvariantEnforcers(m, inv), inv.Doc}
		}),
		Actors:   each(m.Actors, actorInfo),
		ID:       fieldInfo(m.ID),
		Fields:   each(m.Fields, fieldInfo),
		Params:   each(m.Params, paramInfo),
		Enums:    each(m.Enums, func(e *ir.Enum) EnumInfo { return EnumInfo{e.Text, names(e.Values)} }),
		Failures: each(m.Failures, failureInfo),
		Uniques: each(m.Uniques, func(u *ir.Unique) UniqueInfo {
			return UniqueInfo{u.Text, names(u.Fields), u.WhileActive}
		}),
		Metrics: each(m.Metrics, metricInfo),
		SQL:     StorageInfo{m.Storage.Table, m.Storage.State, m.Storage.History, m.Storage.Partition},
		Options: optionsInfo(m),
	}
}

// each maps items; the result is never nil, so it is [] in JSON.
func each[T, U any](items []T, f func(T) U) []U {
	out := make([]U, 0, len(items))
	for _, item := range items {
		out = append(out, f(item))
	}
	return out
}

// orNull returns nil for "", which is null in JSON.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func optionsInfo(m *ir.Machine) OptionsInfo {
	o := OptionsInfo{Strict: m.Strict, Repeat: "reject"}
	if m.RepeatSucceeds {
		o.Repeat = "success"
	}
	if m.Fatal != nil {
		o.Fatal = orNull(m.Fatal.Text)
	}
	return o
}

func stateInfo(s *ir.State) StateInfo {
	return StateInfo{
		Name: s.Text, Kind: string(s.Kind), Initial: s.Initial, Terminal: s.Terminal, Recoverable: s.Recoverable,
		Timeout: timeoutInfo(s.Timeout), Holds: clauseTexts(s.Holds),
		Entry: actionNames(s.Entry), Exit: actionNames(s.Exit), Doc: s.Doc,
	}
}

func timeoutInfo(t *ir.Timeout) *TimeoutInfo {
	if t == nil {
		return nil
	}
	info := &TimeoutInfo{Fire: t.Fire.Event.Text, Args: assignMap(t.Fire.Args)}
	if t.At != nil {
		info.At = orNull(t.At.Text)
		return info
	}
	length, param := operandDuration(t.After)
	info.After, info.Param = orNull(length), orNull(param)
	return info
}

func assignMap(assigns []ir.Assign) map[string]string {
	out := make(map[string]string, len(assigns))
	for _, a := range assigns {
		out[a.Target.Text] = a.Value.Text
	}
	return out
}

func rowInfo(r *ir.Row) RowInfo {
	info := RowInfo{
		Name: r.Text, On: r.Event.Text, By: names(r.By), When: clauseTexts(r.When), Otherwise: r.Otherwise,
		Priority: r.Priority, Do: actionNames(r.Do), Wildcard: r.Wildcard, Set: assignMap(r.Set), Effects: actionNames(r.Actions),
	}
	if r.From != nil {
		info.From = &r.From.Text
	}
	if r.To != nil {
		info.To = &r.To.Text
	}
	if r.Reject != nil {
		info.Reject = &r.Reject.Text
	}
	if r.Raise != nil {
		info.Raise = &r.Raise.Event.Text
	}
	return info
}

func eventInfo(e *ir.Event) EventInfo {
	info := EventInfo{Name: e.Text, Source: string(e.Source), Fields: []EventData{}, By: names(e.By), Internal: e.Internal, Doc: e.Doc}
	for _, f := range e.Fields {
		info.Fields = append(info.Fields, EventData{f.Text, bareType(f.Type), f.Type.Optional, false})
	}
	for _, w := range e.Writes {
		info.Fields = append(info.Fields, EventData{w.Field.Text, bareType(w.Field.Type), w.Optional, true})
	}
	if e.Key != nil {
		info.Key = orNull(e.Key.String())
	}
	if e.Lock != nil {
		info.Lock = &LockInfo{e.Lock.Key.String(), e.Lock.TTL}
	}
	return info
}

// bareType is the type without "optional" and unit.
func bareType(t ir.Type) string {
	t.Optional = false
	return t.String()
}

func effectInfo(e *ir.Effect) EffectInfo {
	kind, target := kindOf(e)
	info := EffectInfo{
		Name: e.Text, Delivery: string(e.Delivery), Kind: kind, Target: orNull(target), To: orNull(e.To),
		With: make(map[string]string), Returns: each(e.Returns, fireText),
		Fails: orNull(fireText(e.Fails)), Lost: orNull(fireText(e.Lost)), Level: orNull(string(e.Level)), Doc: e.Doc,
	}
	for _, p := range e.With {
		info.With[p.Name] = p.Value.Text
	}
	for _, c := range e.Row {
		info.With[c.Column.Text] = c.Value.Text
	}
	if e.Cleanup != nil {
		info.Cleanup = &e.Cleanup.Text
	}
	if e.Retry != nil {
		info.Retry = &e.Retry.Text
	}
	return info
}

// kindOf returns what e is and the table or machine that it acts on.
func kindOf(e *ir.Effect) (kind, target string) {
	switch e.Kind {
	case ir.Log:
		return "log", ""
	case ir.Upsert:
		return "upsert", e.Table.Text
	case ir.Update:
		return "update", e.Table.Text
	case ir.Delete:
		return "delete", e.Table.Text
	case ir.Start:
		return "start", e.Machine.Text
	case ir.Call:
		return callKind(e), ""
	}
	panic(ir.NoForm("docs.kindOf", e.Kind))
}

func callKind(e *ir.Effect) string {
	if e.IsWork() {
		return "work"
	}
	switch e.Delivery {
	case ir.InTransaction:
		return "call"
	case ir.Idempotent, ir.Keyed, ir.Queryable, ir.AtMostOnce:
		return "message"
	}
	panic(ir.NoForm("docs.callKind", e.Delivery))
}

func actorInfo(a *ir.Actor) ActorInfo {
	info := ActorInfo{Name: a.Text}
	if a.Is != nil {
		info.Is = &a.Is.Text
	}
	return info
}

func fieldInfo(f *ir.Field) FieldInfo {
	info := FieldInfo{Name: f.Text, Type: bareType(f.Type), Optional: f.Type.Optional, Rules: append([]string{}, fieldRules(f)...)}
	if f.HasDefault {
		value := valueText(f.Default)
		info.Default = &value
	}
	return info
}

func paramInfo(p *ir.Param) FieldInfo {
	value := valueText(p.Default)
	return FieldInfo{Name: p.Text, Type: bareType(p.Type), Optional: p.Type.Optional, Default: &value, Rules: []string{}}
}

func failureInfo(f *ir.Failure) FailureInfo {
	info := FailureInfo{Name: f.Text, Status: f.Status}
	if r := f.Retry; r != nil {
		info.Retry = &RetryInfo{r.First, r.Factor, r.Max, r.Jitter, r.Attempts}
	}
	return info
}

func metricInfo(x *ir.Metric) MetricInfo {
	return MetricInfo{
		Name: x.Text, Type: string(x.Type), Of: string(x.Of), When: clauseTexts(x.When), Buckets: append([]float64{}, x.Buckets...),
		Labels: each(x.Labels, func(l ir.Payload) string { return l.Name }),
	}
}
