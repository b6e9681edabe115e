package main

import (
	"strings"
	"testing"
)

const output = `note: Relay is of another day.
goos: linux
goarch: amd64
cpu: Some Processor
BenchmarkUpload/generated-2      100	 10 ns/op	 0 B/op	 0 allocs/op
BenchmarkUpload/generated-2      100	 30 ns/op	 0 B/op	 0 allocs/op
BenchmarkUpload/generated-2      100	 12 ns/op	 0 B/op	 0 allocs/op
BenchmarkUpload/handwritten-2    100	  8 ns/op	 0 B/op	 0 allocs/op
BenchmarkUpload/looplab-2        100	1200 ns/op	 9 B/op	 3 allocs/op
BenchmarkUpload/stateless-2      100	 590 ns/op	 9 B/op	 3 allocs/op
BenchmarkCompile/specs-2        4	200000000 ns/op	 0.25 cpu-s/op
BenchmarkCompile/rows=1000-2       4	200000000 ns/op	 0.3 cpu-s/op	 300 cpu-ns/row
BenchmarkCompile/rows=10000-2      1	4000000000 ns/op	 4.5 cpu-s/op	 450 cpu-ns/row
BenchmarkPostgresFire/fsync=off/clients=1-2   4	 900 engine-events/s	 0.85 of-by-hand	 33.4 trigger-percent
BenchmarkPostgresFire/fsync=off/clients=16-2  4	 900 engine-events/s	 0.75 of-by-hand
BenchmarkPostgresFire/fsync=on/clients=1-2    4	 900 engine-events/s	 0.95 of-by-hand	 13.4 trigger-percent
BenchmarkPostgresFire/fsync=on/clients=16-2   4	 900 engine-events/s	 0.88 of-by-hand
BenchmarkPostgresBatch/fsync=off-2    4	 0.81 of-by-hand
BenchmarkPostgresBatch/fsync=on-2     4	 0.79 of-by-hand
BenchmarkSQLite/sync=FULL/turns-2     4	 0.91 of-by-hand	 12.1 trigger-percent
BenchmarkRegistration/fsync=off/real/single-step/clients=16-2  4	 0.55 of-direct	 0.75 of-by-hand
BenchmarkRegistration/fsync=off/real/single-step/fleet=512-2   4	 0.65 of-direct	 0.85 of-by-hand
BenchmarkRelay/fsync=off-2            4	 9876.5 engine-messages/s	 1.25 of-river
BenchmarkRelay/fsync=on-2             4	 9876.5 engine-messages/s	 1.75 of-river
BenchmarkLifecycle/clients=16-2       4	 3.25 of-dbos
BenchmarkLifecycle/clients=64-2       4	 2.75 of-dbos
BenchmarkHungDestination/postgres/blocked=200000-2  1	 6.5 p50-ms	 48.2 p99-ms
BenchmarkOutage/postgres/lease=1m0s-2  1	 1 lost
BenchmarkImagesPipeline/MiB=1024-2    1	 1.25 of-script
BenchmarkImagesMemory/MiB=64-2        1	 9.4 MiB-over-idle
BenchmarkImagesMemory/MiB=1024-2      1	 9.6 MiB-over-idle
`

func TestRunTellsWhatWasNotReached(t *testing.T) {
	var out strings.Builder
	if err := run(strings.NewReader(output), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"linux, amd64, Some Processor.\n\nRelay is of another day.\n\nThe walk",
		"hand-written switch | at most 1.20 times | 1.50 times | **no** |",
		"| allocations of the generated walk | at most 0 | 0 | yes |",
		"| looplab/fsm against generated | at least 50 times | 100 times | yes |",
		"| qmuntal/stateless against generated | at least 50 times | 49 times | **no** |",
		"| time per row, 10,000 rows against 1,000 | at most 2.00 times | 1.50 times | yes |",
		"| PostgreSQL, fsync=off, one event at a time, 16 clients: throughput against by hand | at least 0.80 times | 0.75 times | **no** |",
		"| PostgreSQL, fsync=off, one event at a time, 1 client: what the triggers take of it | at most 15 percent | 33 percent | **no** |",
		"| SQLite, one event at a time: what the triggers take of it | at most 15 percent | 12 percent | yes |",
		"| PostgreSQL, fsync=on, one event at a time, 1 client: what the triggers take of it | at most 15 percent | 13 percent | yes |",
		"| PostgreSQL, fsync=off, FireBatch, 1 client: throughput against the batch by hand | at least 0.80 times | 0.81 times | yes |",
		"| PostgreSQL, fsync=on, FireBatch, 1 client: throughput against the batch by hand | at least 0.80 times | 0.79 times | **no** |",
		"| PostgreSQL, fsync=off, outbox relay against River | at least 1.50 times | 1.25 times | **no** |",
		"| PostgreSQL, fsync=on, outbox relay against River | at least 1.50 times | 1.75 times | yes |",
		"16 clients: throughput against DBOS Transact | at least 3.00 times | 3.25 times | yes |",
		"64 clients: throughput against DBOS Transact | at least 3.00 times | 2.75 times | **no** |",
		"with 200,000 blocked behind it, 99 of 100 | at most 100 ms | 48 ms | yes |",
		"after an outage of 50 s with a lease of 60 s, of 10 | at most 0 | 1 | **no** |",
		"to its snapshot, against cp, sha256sum and tar -x | at most 1.15 times | 1.25 times | **no** |",
		"| images, memory over idle, an image of 1 GiB | at most 64 MiB | 10 MiB | yes |",
		"fsync=off, 16 clients, 80 nodes: throughput against by hand | at least 0.80 times | 0.75 times | **no** |",
		"fsync=off, 16 clients, a fleet of 512: throughput against by hand | at least 0.80 times | 0.85 times | yes |",
		"fsync=on, 16 clients, 80 nodes: throughput against by hand | at least 0.80 times | – | not measured |",
		"median (document 001: below 10 ms) | at most 10.0 ms | – | not measured |",
		"| Upload/generated | 3 | 12.0 ns | 0 |",
		"| Relay/fsync=off | engine-messages/s | 1 | 9876 |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
}

func TestRunRefusesPartialInput(t *testing.T) {
	err := run(strings.NewReader("BenchmarkUpload/generated-2 100 10 ns/op\n"), &strings.Builder{})
	if err == nil || !strings.Contains(err.Error(), "Upload/handwritten") {
		t.Errorf("got %v", err)
	}
}
