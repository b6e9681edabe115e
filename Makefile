# Every command of the project. "make" lists them.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# How long each fuzz target runs, and how often each benchmark.
FUZZTIME ?= 10s
COUNT    ?= 6

BIN     := tools/bin
MODULES := . tools tools/promcheck $(patsubst %/go.mod,%,$(wildcard bench/go.mod))

# The race detector needs cgo and a C compiler. It leaves out SQLite, whose C was
# translated to Go: it would find nothing of ours there and takes a third of the time.
# The client of TON points at words inside byte slices, which checkptr takes for a mistake.
RACE := $(shell [ "$$(go env CGO_ENABLED)" = 1 ] && command -v "$$(go env CC)" >/dev/null && \
	echo "-race '-gcflags=modernc.org/...=-race=false -d=checkptr=0' '-gcflags=github.com/xssnick/...=-d=checkptr=0'")
# A test may take as long as it works: the watchdog ends one that hangs.
WATCHED    := -timeout 0 -exec $(CURDIR)/$(BIN)/watchdog
TEST_FLAGS := $(RACE) -shuffle=on $(WATCHED)

.PHONY: help
help: ## List these commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
		while IFS='|' read -r name does; do printf '  make %-10s %s\n' "$$name" "$$does"; done

.PHONY: build
build: ## Compile everything; the command lands in tools/bin
	go build ./...
	go build -o $(BIN)/fsmgen ./cmd/fsmgen

# The folders that have a spec/ and a generated/ of their own.
OWN_SPECS := proptest/jepsen internal/fixture bench $(patsubst %/spec,%,$(wildcard examples/*/spec))

.PHONY: generate
generate: ## Compile the tables of spec/ into generated/, and those of the folders that have their own
	go run ./cmd/fsmgen generate
	@for folder in $(OWN_SPECS); do go run ./cmd/fsmgen generate $$folder/spec --out $$folder/generated; done

.PHONY: demo
demo: ## Compile all tables and run the ten machines of the documents durably, with a kill in the middle
	go run ./internal/demo

.PHONY: test
test: $(BIN)/parts $(BIN)/watchdog ## Run every test, against the real parts (docs/services.md)
	$(BIN)/parts -- $(MAKE) test-modules

# What make test runs beside the parts. Every module is tested, whatever failed before it.
.PHONY: test-modules
test-modules:
	@$(if $(RACE),,echo 'no C compiler for cgo: the tests run without the race detector')
	@[ -e /proc/self/stat ] || echo 'no /proc: the tests of the watchdog that look at a process are skipped'
	@failed=; for module in $(MODULES); do \
		echo "go -C $$module test $(TEST_FLAGS) ./..."; \
		go -C $$module test $(TEST_FLAGS) ./... || failed="$$failed $$module"; \
	done; \
	echo "every benchmark, once"; \
	go -C bench test $(WATCHED) -run '^$$' -bench . -benchtime 1x . || failed="$$failed bench"; \
	echo 'left to make soak: TestSoak of proptest/simulate and of proptest/jepsen'; \
	[ -z "$$failed" ] || { echo "tests failed in:$$failed"; exit 1; }

.PHONY: race
race: $(BIN)/parts $(BIN)/watchdog ## Run the tests of the main module three times under the race detector
	$(BIN)/parts -- go test $(RACE) -shuffle=on -count=3 $(WATCHED) ./...

# How long make soak plays simulations, and how many rounds with processes and faults, of two minutes each.
SOAK   ?= 1h
ROUNDS ?= 20

.PHONY: soak
soak: $(BIN)/parts $(BIN)/watchdog ## Play simulations for SOAK (1h), then ROUNDS (20) with processes and faults
	FSMGEN_TABLES=100000 go test -count=1 -v $(WATCHED) -run '^TestSoundness$$' ./gen/check
	FSMGEN_SOAK=$(SOAK) $(BIN)/parts --need postgres -- go test -count=1 -v $(WATCHED) -run '^TestSoak$$' ./proptest/simulate
	FSMGEN_JEPSEN_ROUNDS=$(ROUNDS) $(BIN)/parts --need postgres -- go test -count=1 -v $(WATCHED) -run '^TestSoak$$' ./proptest/jepsen

.PHONY: golden
golden: $(BIN)/parts $(BIN)/watchdog ## Rewrite the golden files; read the diff before you commit it
	FSMGEN_GOLDEN=1 $(BIN)/parts -- go test -count=1 $(WATCHED) ./...

# A target that fails keeps its input in testdata/fuzz and says how to run it again. The others go on.
.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (10s), from the inputs in testdata/fuzz
	go -C tools build -o bin/fuzz ./fuzz
	$(BIN)/fuzz -time $(FUZZTIME)

# Benchmarks whose ways take turns: in a second there would be two or three of them.
TURNS := Registration|PostgresFire|PostgresBatch|Relay|Kafka|Lifecycle|Busy

.PHONY: bench
bench: $(BIN)/benchstat $(BIN)/parts ## Run the benchmarks COUNT (6) times; rewrites docs/benchmarks.md
	$(BIN)/parts --need postgres -- go -C bench test -run '^$$' -bench . -skip '$(TURNS)|Recovery|Idle|Images|Hung|Outage' -benchmem -count $(COUNT) -timeout 2h . | tee $(BIN)/bench.txt
	FSMGEN_BENCH_FULL=1 $(BIN)/parts --need postgres -- go -C bench test -run '^$$' -bench 'Recovery|Idle|Images|Hung|Outage' -benchtime 1x -timeout 2h . | tee -a $(BIN)/bench.txt
	$(MAKE) turns
	$(BIN)/benchstat $(BIN)/bench.txt $(BIN)/turns.txt
	$(MAKE) table

# These need an idle computer most. With TURNS='Relay|Lifecycle' only some of them run.
.PHONY: turns
turns: $(BIN)/parts ## Run only the benchmarks that take turns on PostgreSQL
	$(BIN)/parts --need postgres,consul -- go -C bench test -run '^$$' -bench '$(TURNS)' -benchtime 25x -count $(COUNT) -timeout 4h . | tee $(BIN)/turns.txt

.PHONY: table
table: ## Rewrite docs/benchmarks.md from the last runs of bench and turns
	cat $(BIN)/bench.txt $(BIN)/turns.txt | go -C bench run ./table > $(BIN)/benchmarks.md
	cp $(BIN)/benchmarks.md docs/benchmarks.md

.PHONY: lint
lint: $(BIN)/golangci-lint ## Run gofmt, go vet and the linters of .golangci.yml on every module
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | { xargs -r ls 2>/dev/null || true; } | xargs -r gofmt -l); \
	[ -z "$$unformatted" ] || { echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; }
	@for module in $(MODULES); do \
		echo "lint $$module"; \
		go -C $$module vet ./...; \
		(cd $$module && $(CURDIR)/$(BIN)/golangci-lint run ./...); \
	done

.PHONY: tidy
tidy: ## Tidy the go.mod of every module
	@for module in $(MODULES); do echo "tidy $$module"; go -C $$module mod tidy; done

.PHONY: verify
verify: verify-generated verify-tidy lint verify-structure fuzz ## Fail if output is stale, modules untidy, lint unhappy, rules broken, or fuzzing finds something

# Generating again must change nothing and leave nothing behind.
.PHONY: verify-generated
verify-generated:
	@before=$$(git status --porcelain); \
	echo "go run ./cmd/fsmgen generate --check"; \
	go run ./cmd/fsmgen generate --check; \
	for folder in $(OWN_SPECS); do \
		go run ./cmd/fsmgen generate --check $$folder/spec --out $$folder/generated; \
	done; \
	$(MAKE) generate; \
	after=$$(git status --porcelain); \
	diff <(echo "$$before") <(echo "$$after") || { echo "generate changed the tree (git status, before and after)"; exit 1; }

.PHONY: verify-tidy
verify-tidy:
	@for module in $(MODULES); do \
		echo "tidy -diff $$module"; \
		go -C $$module mod tidy -diff || { echo "run: make tidy"; exit 1; }; \
	done

# The import rules, and the check that nothing was forgotten. A pattern that
# matches no test would pass, so each test has to be there by name.
.PHONY: verify-structure
verify-structure:
	@for name in TestImports TestNothingForgotten; do \
		out=$$(go test -count=1 -v -run "^$$name\$$" .) || { echo "$$out"; exit 1; }; \
		grep "^--- PASS: $$name " <<<"$$out" || { echo "there is no test $$name"; exit 1; }; \
	done

.PHONY: vuln
vuln: $(BIN)/govulncheck ## Look for known vulnerabilities in what the module calls (asks vuln.go.dev)
	$(BIN)/govulncheck ./...

.PHONY: clean
clean: ## Remove what was built or fetched
	rm -rf $(BIN) tools/mermaid/node_modules tools/ton/node_modules
	go clean -testcache

# The go command decides whether there is something to build.
.PHONY: $(BIN)/parts $(BIN)/watchdog
$(BIN)/parts $(BIN)/watchdog:
	@go -C tools build -o bin/ ./$(@F)

# Built once per pinned version: the linter's first build takes a minute and a half.
$(BIN)/golangci-lint: tools/go.mod
	go -C tools build -o bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

$(BIN)/benchstat: tools/go.mod
	go -C tools build -o bin/benchstat golang.org/x/perf/cmd/benchstat
	@touch $@

$(BIN)/govulncheck: tools/go.mod
	go -C tools build -o bin/govulncheck golang.org/x/vuln/cmd/govulncheck
	@touch $@
