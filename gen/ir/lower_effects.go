package ir

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

// kindKeys are the keys that say what an effect is; exactly one is written.
var kindKeys = []struct {
	key  string
	kind EffectKind
}{{"delivery", Call}, {"log", Log}, {"upsert", Upsert}, {"update", Update}, {"delete", Delete}, {"start", Start}}

// declareEffects declares effects and metrics by name and kind.
func (lo *lowering) declareEffects() {
	for _, e := range entries(lo.root.Get("effects")) {
		f := &Effect{Name: declared(e.Key, e.Value), Index: len(lo.m.Effects), Delivery: InTransaction}
		var written []string
		for _, k := range kindKeys {
			if e.Value.Get(k.key) != nil {
				f.Kind = k.kind
				written = append(written, k.key)
			}
		}
		if len(written) != 1 {
			lo.errorf(syntax.CodeShape, e.Key.Span, "write exactly one of delivery, log, upsert, update, delete and start", "effect %q says %d times what it is", f.Text, len(written))
			f.Kind = Call
		}
		switch f.Kind {
		case Call:
			f.Delivery = lo.delivery(e.Value.Get("delivery"))
		case Log:
			f.Delivery, f.Level = AtMostOnce, Level(e.Value.TextOf("log"))
		case Upsert, Update, Delete, Start: // in the transaction
		}
		f.To = e.Value.TextOf("to")
		lo.effects[f.Text] = f
		lo.m.Effects = append(lo.m.Effects, f)
	}
	for _, e := range entries(lo.root.Get("metrics")) {
		m := &Metric{Name: declared(e.Key, e.Value), Index: len(lo.m.Metrics), Type: MetricType(e.Value.TextOf("type")), Of: Observed(e.Value.TextOf("of"))}
		if lo.effects[m.Text] != nil {
			lo.errorf(syntax.CodeDuplicate, m.Span, "give one of the two another name", "metric %q has the name of an effect", m.Text)
		}
		for _, b := range e.Value.Get("buckets").Each() {
			v, _ := strconv.ParseFloat(b.Text, 64)
			m.Buckets = append(m.Buckets, v)
		}
		lo.metrics[m.Text] = m
		lo.m.Metrics = append(lo.m.Metrics, m)
	}
}

// delivery reads a delivery class. One that is not in the list of gen/syntax is
// reported with the shape.
func (lo *lowering) delivery(n *syntax.Node) Delivery {
	if n == nil || n.Kind != syntax.Scalar {
		return ""
	}
	d := Delivery(n.Text)
	if slices.Contains(syntax.Deliveries(), n.Text) && !slices.Contains(Deliveries(), d) {
		lo.errorf(syntax.CodeShape, n.Span, "add it to ir.Deliveries", "delivery %q is a word of gen/syntax without a form in gen/ir", n.Text)
	}
	return d
}

// allowed keys of an effect beside the one that says what it is.
var effectKeys = map[EffectKind][]string{
	Call:   {"delivery", "to", "with", "returns", "fails", "lost", "cleanup", "retry", "lock", "doc"},
	Log:    {"log", "with", "doc"},
	Upsert: {"upsert", "row", "doc"},
	Update: {"update", "row", "doc"},
	Delete: {"delete", "row", "doc"},
	Start:  {"start", "with", "doc"},
}

// resolveEffects resolves payloads, answers, tables and metrics.
func (lo *lowering) resolveEffects() {
	for i, e := range entries(lo.root.Get("effects")) {
		if i >= len(lo.m.Effects) {
			return
		}
		f := lo.m.Effects[i]
		lo.checkEffectKeys(f, e.Value)
		switch f.Kind {
		case Call:
			lo.resolveCall(f, e.Value)
		case Log:
			f.With = lo.payload(e.Value.Get("with"), lo.effectNames(f))
		case Upsert, Update, Delete:
			lo.resolveTableEffect(f, e.Value)
		case Start:
			lo.resolveStart(f, e.Value)
		}
	}
	for i, e := range entries(lo.root.Get("metrics")) {
		if i < len(lo.m.Metrics) {
			lo.resolveMetric(lo.m.Metrics[i], e.Value)
		}
	}
}

func (lo *lowering) checkEffectKeys(f *Effect, n *syntax.Node) {
	for _, e := range n.Entries {
		if !slices.Contains(effectKeys[f.Kind], e.Key.Text) && !isKindKey(e.Key.Text) {
			lo.errorf(syntax.CodeShape, e.Key.Span, "remove it", "key %q means nothing for this kind of effect", e.Key.Text)
		}
	}
}

func isKindKey(key string) bool {
	for _, k := range kindKeys {
		if k.key == key {
			return true
		}
	}
	return false
}

// actionNames is what the payload of an effect, or the labels of a metric,
// read: the new record and, where only rows of one event name the action,
// that event's fields.
func (lo *lowering) actionNames(same func(Action) bool, place string) *names {
	n := lo.stepNames(place)
	for _, list := range lo.sharedActions() {
		if slices.ContainsFunc(list, same) {
			return n
		}
	}
	for _, r := range lo.m.Rows {
		if r.Event == n.event || !slices.ContainsFunc(r.Do, same) {
			continue
		}
		if n.event != nil {
			n.event = nil
			return n
		}
		n.event = r.Event
	}
	return n
}

// sharedActions are the lists that run for several events.
func (lo *lowering) sharedActions() [][]Action {
	lists := [][]Action{lo.m.Do}
	for _, s := range lo.m.States {
		lists = append(lists, s.Entry, s.Exit)
	}
	return lists
}

func (lo *lowering) effectNames(f *Effect) *names {
	return lo.actionNames(func(a Action) bool { return a.Effect == f }, "in a payload")
}

func (lo *lowering) metricNames(m *Metric) *names {
	return lo.actionNames(func(a Action) bool { return a.Metric == m }, "in a metric")
}

// payload reads `with` or labels: a list of names, or a map to values.
func (lo *lowering) payload(n *syntax.Node, names *names) []Payload {
	var out []Payload
	if n == nil {
		return nil
	}
	for _, item := range n.Items {
		if v, ok := lo.reference("$"+item.Text, item.TextSpan(), Type{}, names); ok {
			out = append(out, Payload{Name: item.Text, Value: v, Span: item.TextSpan()})
		}
	}
	for _, e := range n.Entries {
		if v, ok := lo.expr(e.Value, Type{}, names); ok {
			out = append(out, Payload{Name: e.Key.Text, Value: v, Span: e.Key.TextSpan()})
		}
	}
	return out
}

func (lo *lowering) resolveCall(f *Effect, n *syntax.Node) {
	names := lo.effectNames(f)
	f.With = lo.payload(n.Get("with"), names)
	for _, r := range n.Get("returns").Each() {
		if fire := lo.fire(r, lo.answerNames()); fire != nil {
			f.Returns = append(f.Returns, fire)
		}
	}
	f.Fails = lo.fire(n.Get("fails"), lo.answerNames(ErrorText))
	f.Lost = lo.fire(n.Get("lost"), lo.answerNames())
	if c := n.Get("cleanup"); c != nil {
		f.Cleanup, _ = lookup(lo, lo.effects, "effect", c)
	}
	if r := n.Get("retry"); r != nil {
		f.Retry, _ = lookup(lo, lo.failures, "failure class", r)
	}
	payload := byName(nil)
	for name, x := range lo.fields {
		payload[name] = x
	}
	f.Lock = lo.lock(n.Get("lock"), payload)
}

// answerNames is what an answer reads. It comes later than its effect was asked
// for: what the record says then is for the row to read.
func (lo *lowering) answerNames(specials ...Special) *names {
	return &names{params: lo.params, specials: specials, place: "in an answer"}
}

func (lo *lowering) resolveTableEffect(f *Effect, n *syntax.Node) {
	if target := n.Get(f.Kind.String()); target != nil && target.Kind == syntax.Scalar {
		f.Table = lo.table(target)
	}
	if n.Get("row") == nil {
		lo.errorf(syntax.CodeMissingKey, f.Span, "add `row: {column: value}` with the key at least", "key \"row\" is missing here")
	}
	if f.Table != nil {
		f.Row = lo.columnValues(n.Get("row"), f.Table, lo.effectNames(f))
	}
}

// resolveStart resolves the machine that is started and binds its creation
// event's payload.
func (lo *lowering) resolveStart(f *Effect, n *syntax.Node) {
	target, ok := lookup(lo, lo.scope, "machine", n.Get("start"))
	if !ok {
		return
	}
	f.Machine = target.m
	creation := Creation(f.Machine)
	if creation == nil {
		return // reported with that machine
	}
	payload := byName(creation.Event.Fields)
	for _, w := range creation.Event.Writes {
		payload[w.Field.Text] = w.Field
	}
	names := lo.effectNames(f)
	bind := func(name string, value *syntax.Node, at diag.Span) {
		field, ok := lookupText(lo, payload, "field of event "+creation.Event.Text, name, at)
		if !ok {
			return
		}
		want := target.payloadType(creation.Event, field)
		if v, ok := lo.expr(value, want, names); ok {
			f.With = append(f.With, Payload{Name: name, Value: v, Span: at})
		}
	}
	with := n.Get("with")
	if with == nil {
		return
	}
	for _, item := range with.Items {
		bind(item.Text, &syntax.Node{Kind: syntax.Scalar, Text: "$" + item.Text, Span: item.Span}, item.TextSpan())
	}
	for _, e := range with.Entries {
		bind(e.Key.Text, e.Value, e.Key.TextSpan())
	}
}

// Creation returns the first row that creates records of m, or nil.
func Creation(m *Machine) *Row {
	for _, r := range m.Rows {
		if r.From == nil {
			return r
		}
	}
	return nil
}

var labelName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (lo *lowering) resolveMetric(m *Metric, n *syntax.Node) {
	names := lo.metricNames(m)
	labels := n.Get("labels")
	if labels != nil && m.Of != OfRows {
		for _, item := range labels.Items { // the engine or the service knows the value
			p := Payload{Name: item.Text, Span: item.TextSpan()}
			if f := lo.fields[item.Text]; f != nil && m.Of != OfService {
				p.Value, _ = lo.reference("$"+item.Text, item.TextSpan(), Type{}, names)
			}
			m.Labels = append(m.Labels, p)
		}
	} else {
		m.Labels = lo.payload(labels, names)
	}
	for _, p := range m.Labels {
		if !labelName.MatchString(p.Name) {
			lo.errorf(syntax.CodeShape, p.Span, "use letters, digits and underscores", "%q is not a label name", p.Name)
		}
	}
	if v := n.Get("value"); v != nil {
		if e, ok := lo.expr(v, Type{Base: Int, Optional: true}, names); ok {
			m.Value = &e
		}
	}
	m.When = lo.clauses(n.Get("when"), lo.recordNames("in a metric's when"))
}
