// Command table turns the output of `go test -bench` on its standard input
// into the table of docs/benchmarks.md: each figure that the project set
// itself, the median that was measured, and whether it was reached.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

// samples holds the values of one benchmark by unit.
type samples map[string]map[string][]float64

// figure is one goal: a measured value that must stay below, or reach, limit.
type figure struct {
	what    string
	measure func(samples) (float64, error)
	format  string
	limit   float64
	atLeast bool
}

const page = `# Benchmarks

Made by ` + "`make bench`" + `, which runs every benchmark several times in one run and takes medians; the ratios compare
benchmarks of that one run. A figure that was not reached says so. Measured on: %s.
%s
The walk is an upload (document 000, section 1) from its first request to the committed blob: three transitions with their
guards. "Hand-written" is the same machine as a switch per command (bench/handwritten_test.go); it explains nothing and
keeps no table. The libraries run the same guards in callbacks, on machines that are built once (bench/peers_test.go).

PostgreSQL: the engine, the code by hand, River and DBOS Transact share one server on the same computer, in a schema each;
"by hand" has the tables of the engine, with their indices and triggers. What takes turns is measured on two servers with
synchronous_commit on. On the one with fsync off, which is reached over TCP, a commit waits for the kernel and not for a disk;
that favours the way with more round trips. On the one with fsync on, which is reached by a socket, a commit waits for the disk.
The turns are short stretches of one run: 25 of one event, a batch, a backlog, lifecycles or registrations.

- One event: the advertiser of a funded deal consents to cancel it. It is read and decided; the record is updated, a history
  row and two messages are inserted (bench/postgres_byhand_test.go does the last three in one statement). "Without triggers"
  is the same by hand in sessions for which no trigger fires.
- FireBatch: 1,000 such events a call, 100 in a transaction (the default). By hand a transaction has 100 events too, and four
  run at the same time, as in FireBatch: one statement reads the rows, one writes all (bench/postgres_byhand_batch_test.go).
- Relay: 10,000 messages, each of another record, beside as many jobs. The handlers do nothing. The time is from the start of
  the first until the database says that the last is done. Both may work on 1,000 at the same time. River fetches every
  2 milliseconds (FetchCooldown) instead of every 100, its default.
- Kafka: 10,000 messages of deal.events to a cluster in the process (kfake, a fake), with 1,000 under way at most, each of which
  waits for its acknowledgement: through the adapter alone, from a backlog in the database (fsync off) through the engine, and by
  franz-go alone, which sends the same bytes from memory.
- Lifecycle: an order is placed, reserved, charged and shipped; "charged" calls an HTTP server on the same computer. The server
  has fsync on. 16 or 64 clients each wait for the end of an order in the database before they start another. The engine has a
  record that the schema judges, a history row for each step, and a message; the steps before the call are one transaction, and
  those after it another. The workflow of DBOS Transact Go is started directly, without a queue, on the connections that it opens
  by default (20, as many as the engine); it stores its start, each of four steps and its end in a transaction each, and has no
  record of the order besides (bench/lifecycle_dbos_test.go).

SQLite: the same event on a file, synchronous=FULL, against the same read, UPDATE and INSERTs through database/sql with
prepared statements, on the same driver, in one transaction; in turns of one run.

Recovery: 100,000 records of which each waits for the answer to an effect that a dead worker had begun; from the start of
Run, in its default configuration, until the last record has moved on and its message is delivered. MiB is the largest heap
that was seen. Idle: 1,000,000 terminal records with their histories and delivered messages, and nothing to do; what one poll
costs, and how many pages PostgreSQL looks at. That no statement of a worker scans a table is a test (TestNoStatementScansATable,
TestPollingNeverScans). These two run once.

Hung destination: of the two messages of an event one goes to a destination that never answers, behind which 200,000 others are
blocked, 200 of a record each. The time of the other one is from the beginning of its event to its handler, in another process
in effect: events and worker have an engine and connections each. 300 events, one after the other, run once. Outage: a worker
is cut off from the server while it has ten effects in hand that are at_most_once, and all of them end well meanwhile.

Images (document 002), volumes in plain directories, on a file system without reflinks, so that a snapshot is a copy. Pipeline:
an image of 1 GiB in 20,000 files from a bucket that is a directory to its snapshot, in turns of one run with a script that
does cp, sha256sum and tar -x of the same object, one after another; what lies between the turns is removed and written out.
The pipeline hashes while it downloads, validates the file, extracts it, makes the snapshot, and has all of it on the disk
before it says so; the script does none of the last. of-script-synced is against the script with a sync after cp and after tar.
Memory: the largest resident set of the command that makes one image, less that of an idle daemon. Many: 1,000 images of 16 KiB,
sixteen at a time; an image has three records; engine-share is the part of the workers' time that no handler has, most of which
is waiting for the one who may write to the database. These run once, the pipeline
in three turns; on a busy disk its ratio moves by a third from run to run.

Registration: a node of document 001, from REGISTER until it is registered, through one daemon on PostgreSQL and Consul
("real"), or the agent of the repository ("in-process", which answers in a fraction of the time and so shows the service's own
cost). It is a durable record that takes six steps in two transactions. The schema judges each step, which leaves a row of the
history; a message and a deadline are stored and settled. Registrations that come at the same time share their transactions, as
do their answers. "By hand" stores the same rows with statements written for them, which share their transactions as well, and
makes the same requests, but asks the database nothing (bench/registration_byhand_test.go). The goal is a part of its rate.
"Direct" is the upsert and the Consul registration alone, which keep no record, and "bare" is one INSERT and one request. A
stretch is of 80 nodes with 16 clients, and of a fleet of 512; they leave Consul before the next. The more nodes Consul has, the
more a node costs it, which slows all ways down. The garbage collector runs as seldom as in registrationd (GOGC=400), for all
ways. Two-step commits the checkpoint on its own.

`

var figures = slices.Concat(
	[]figure{
		{"generated transitions against the same machine as a hand-written switch", ratio("Upload/generated", "Upload/handwritten", "ns/op"), "%.2f times", 1.2, false},
		{"allocations of the generated walk", value("Upload/generated", "allocs/op"), "%.0f", 0, false},
		{"looplab/fsm against generated", ratio("Upload/looplab", "Upload/generated", "ns/op"), "%.0f times", 50, true},
		{"qmuntal/stateless against generated", ratio("Upload/stateless", "Upload/generated", "ns/op"), "%.0f times", 50, true},
		{"all tables of spec/ to all outputs, processor time", value("Compile/specs", "cpu-s/op"), "%.2f s", 1, false},
		{"a spec of 10,000 rows to all outputs, processor time", value("Compile/rows=10000", "cpu-s/op"), "%.2f s", 5, false},
		{"time per row, 10,000 rows against 1,000", ratio("Compile/rows=10000", "Compile/rows=1000", "cpu-ns/row"), "%.2f times", 2, false},
		{"SQLite, one event at a time: throughput against by hand", value("SQLite/sync=FULL/turns", "of-by-hand"), "%.2f times", 0.7, true},
		{"SQLite, one event at a time: what the triggers take of it", value("SQLite/sync=FULL/turns", "trigger-percent"), "%.0f percent", 15, false},
	},
	onPostgreSQL("fsync=off"),
	onPostgreSQL("fsync=on"),
	[]figure{
		{"PostgreSQL, fsync=on, order lifecycles with an outside call, 16 clients: throughput against DBOS Transact", value("Lifecycle/clients=16", "of-dbos"), "%.2f times", 3, true},
		{"PostgreSQL, fsync=on, order lifecycles with an outside call, 64 clients: throughput against DBOS Transact", value("Lifecycle/clients=64", "of-dbos"), "%.2f times", 3, true},
		{"Kafka (kfake), messages through the adapter against franz-go alone", optional("Kafka", "adapter-of-franz-go"), "%.2f times", 0.7, true},
		{"Kafka (kfake), messages from the database through the engine against franz-go alone", optional("Kafka", "engine-of-franz-go"), "%.2f times", 0.7, true},
		{"PostgreSQL, a message beside a destination that hangs with 200,000 blocked behind it, 99 of 100", value("HungDestination/postgres/blocked=200000", "p99-ms"), "%.0f ms", 100, false},
		{"PostgreSQL, reported as lost after an outage of 50 s with a lease of 60 s, of 10", value("Outage/postgres/lease=1m0s", "lost"), "%.0f", 0, false},
		{"images, 1 GiB of 20,000 files to its snapshot, against cp, sha256sum and tar -x", value("ImagesPipeline/MiB=1024", "of-script"), "%.2f times", 1.15, false},
		{"images, memory over idle, an image of 64 MiB", value("ImagesMemory/MiB=64", "MiB-over-idle"), "%.0f MiB", 64, false},
		{"images, memory over idle, an image of 1 GiB", value("ImagesMemory/MiB=1024", "MiB-over-idle"), "%.0f MiB", 64, false},
	},
	withConsul("fsync=off"),
	withConsul("fsync=on"),
)

// onPostgreSQL returns the figures of the turns on a server.
func onPostgreSQL(server string) []figure {
	return []figure{
		{"PostgreSQL, " + server + ", one event at a time, 1 client: throughput against by hand", value("PostgresFire/"+server+"/clients=1", "of-by-hand"), "%.2f times", 0.8, true},
		{"PostgreSQL, " + server + ", one event at a time, 16 clients: throughput against by hand", value("PostgresFire/"+server+"/clients=16", "of-by-hand"), "%.2f times", 0.8, true},
		{"PostgreSQL, " + server + ", FireBatch, 1 client: throughput against the batch by hand", value("PostgresBatch/"+server, "of-by-hand"), "%.2f times", 0.8, true},
		{"PostgreSQL, " + server + ", one event at a time, 1 client: what the triggers take of it", value("PostgresFire/"+server+"/clients=1", "trigger-percent"), "%.0f percent", 15, false},
		{"PostgreSQL, " + server + ", outbox relay against River", value("Relay/"+server, "of-river"), "%.2f times", 1.5, true},
	}
}

// withConsul returns the figures of registrations on a server.
func withConsul(server string) []figure {
	name := "Registration/" + server + "/real/"
	return []figure{
		{"registration with Consul, " + server + ", 16 clients, 80 nodes: throughput against by hand", optional(name+"single-step/clients=16", "of-by-hand"), "%.2f times", 0.8, true},
		{"registration with Consul, " + server + ", 16 clients, a fleet of 512: throughput against by hand", optional(name+"single-step/fleet=512", "of-by-hand"), "%.2f times", 0.8, true},
		{"registration with Consul, " + server + ", single-step, 1 client, median (document 001: below 10 ms)", optional(name+"single-step/clients=1", "p50-ms"), "%.1f ms", 10, false},
		{"registration with Consul, " + server + ", two-step, 1 client, median (document 001: 50 to 100 ms more)", optional(name+"two-step/clients=1", "p50-ms"), "%.1f ms", 100, false},
	}
}

func run(in io.Reader, out io.Writer) error {
	all, header, notes, err := read(in)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, page, strings.Join(header, ", "), strings.Join(notes, ""))
	fmt.Fprintln(out, "| figure | goal | median | reached |\n|---|---|---|---|")
	for _, f := range figures {
		got, err := f.measure(all)
		if err != nil && !errors.Is(err, errOptional) {
			return err
		}
		goal, reached := "at most ", got <= f.limit
		if f.atLeast {
			goal, reached = "at least ", got >= f.limit
		}
		verdict := "yes"
		if !reached {
			verdict = "**no**"
		}
		median := fmt.Sprintf(f.format, got)
		if err != nil {
			median, verdict = "–", "not measured"
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", f.what, goal+fmt.Sprintf(f.format, f.limit), median, verdict)
	}
	fmt.Fprintln(out, "\n| benchmark | runs | median | allocations |\n|---|---|---|---|")
	for _, name := range names(all) {
		ns := all[name]["ns/op"]
		if len(ns) == 0 {
			continue
		}
		allocs := "–"
		if a := all[name]["allocs/op"]; len(a) > 0 {
			allocs = fmt.Sprintf("%.0f", median(a))
		}
		fmt.Fprintf(out, "| %s | %d | %s | %s |\n", name, len(ns), duration(median(ns)), allocs)
	}
	fmt.Fprintln(out, "\n| benchmark | measures | runs | median |\n|---|---|---|---|")
	for _, name := range names(all) {
		for _, unit := range slices.Sorted(maps.Keys(all[name])) {
			if !slices.Contains([]string{"ns/op", "B/op", "allocs/op"}, unit) {
				fmt.Fprintf(out, "| %s | %s | %d | %.4g |\n", name, unit, len(all[name][unit]), median(all[name][unit]))
			}
		}
	}
	return nil
}

// read collects the samples, the lines that describe the machine, and those that begin with "note: ":
// paragraphs for whoever puts runs of several days together.
func read(in io.Reader) (all samples, header, notes []string, err error) {
	all = samples{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := lines.Text()
		if note, ok := strings.CutPrefix(line, "note: "); ok {
			notes = append(notes, "\n"+note+"\n")
		}
		for _, key := range []string{"goos: ", "goarch: ", "cpu: "} {
			if v, ok := strings.CutPrefix(line, key); ok && !slices.Contains(header, v) {
				header = append(header, v)
			}
		}
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(fields[0], "Benchmark")
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			name = name[:i]
		}
		if all[name] == nil {
			all[name] = map[string][]float64{}
		}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, nil, nil, fmt.Errorf("read %q: %w", line, err)
			}
			all[name][fields[i+1]] = append(all[name][fields[i+1]], v)
		}
	}
	return all, header, notes, lines.Err()
}

func names(all samples) []string {
	var out []string
	for name := range all {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func value(name, unit string) func(samples) (float64, error) {
	return func(all samples) (float64, error) {
		list := all[name][unit]
		if len(list) == 0 {
			return 0, fmt.Errorf("the input has no %s of benchmark %s", unit, name)
		}
		return median(list), nil
	}
}

// errOptional says that a figure was not measured and need not be.
var errOptional = errors.New("not measured")

// optional is value for a part that cannot be had everywhere.
func optional(name, unit string) func(samples) (float64, error) {
	return func(all samples) (float64, error) {
		got, err := value(name, unit)(all)
		if err != nil {
			return 0, errOptional
		}
		return got, nil
	}
}

func ratio(a, b, unit string) func(samples) (float64, error) {
	return func(all samples) (float64, error) {
		x, err := value(a, unit)(all)
		if err != nil {
			return 0, err
		}
		y, err := value(b, unit)(all)
		if err != nil {
			return 0, err
		}
		return x / y, nil
	}
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

func duration(ns float64) string {
	switch {
	case ns >= 1e9:
		return fmt.Sprintf("%.2f s", ns/1e9)
	case ns >= 1e6:
		return fmt.Sprintf("%.1f ms", ns/1e6)
	case ns >= 1e3:
		return fmt.Sprintf("%.1f µs", ns/1e3)
	}
	return fmt.Sprintf("%.1f ns", ns)
}
