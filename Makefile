# make lists the targets; make demo and make test are the two to begin with.

GO    ?= go
TOOL  := $(GO) tool -modfile=$(CURDIR)/verify/tools/go.mod
UNITS  = $$($(GO) list ./... | grep -vE '/integration(/fleet)?$$')
FUZZ  ?= 30s
# Of the trial in make soak.
SEED    ?= 1
MINUTES ?= 10
# Of make seeds: how many, and which is the first.
SEEDS   ?= 20000
FIRST   ?= $$(date +%s)00000
# Modules of their own, so that what they import does not become the library's.
MODULES = cmd/redlock bench goredis examples otel otel/example integration/browser
each    = @for module in $(MODULES); do (set -x; cd $$module && $(1)) || exit 1; done

.DEFAULT_GOAL := help
.PHONY: help demo release bench test soak vet lint fmt unit sim seeds model mutants image chaos cover fuzz
# Checks print in the order they run, also under make -j.
.NOTPARALLEL:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## see the lock work: five masters in memory, two contenders, masters that die
	@$(GO) run -C cmd/redlock . demo

bench: ## measure against other locks on five redis-server processes: docs/benchmarks.md; FLAGS='-run handoff' and the like for a part
	@cd bench && $(GO) run . -page ../docs $(FLAGS)

release: ## the command for six systems, in out/, with their checksums; the Dockerfile makes an image of it
	@for target in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do \
		os=$${target%/*} arch=$${target#*/}; out=out/redlock-$$os-$$arch; [ $$os = windows ] && out=$$out.exe; \
		(set -x; GOOS=$$os GOARCH=$$arch CGO_ENABLED=0 $(GO) build -C cmd/redlock -trimpath -ldflags='-s -w' -o $(CURDIR)/$$out .) || exit 1; \
	done
	cd out && sha256sum redlock-* | tee SHA256SUMS

test: vet lint unit sim model chaos ## everything that must pass; installs or builds what it needs

soak: ## the long forms, an hour or so: many seeds of the simulations, a trial on real masters (make soak SEED=7 MINUTES=10), all tests with the race detector, the model's larger cases, mutants
	$(MAKE) seeds
	$(GO) run ./integration/chaos -seed $(SEED) -minutes $(MINUTES)
	$(GO) test -count=1 -timeout 30m -run TestOverload ./integration -full
	for server in redis8 valkey8 valkey9; do \
		REDLOCK_REDIS_IMAGE=redlock-test/$$server:local $(GO) test -count=1 -timeout 30m -parallel 4 -skip TestServers ./integration || exit 1; done
	$(GO) test -race -count=1 -timeout 60m $(UNITS)
	$(call each,$(GO) test -race -count=1 ./...)
	$(GO) run ./verify/model -nightly
	$(GO) run ./verify/mutants

vet: ## go vet, for each system that the library is built for, and for 32 bits
	GOOS=linux $(GO) vet ./...
	GOOS=darwin CGO_ENABLED=0 $(GO) vet ./...
	GOOS=windows CGO_ENABLED=0 $(GO) vet ./...
	for arch in 386 arm; do (set -x; GOARCH=$$arch CGO_ENABLED=0 $(GO) vet ./...) || exit 1; done # ints of 32 bits

lint: ## staticcheck, go fix, dead code, gofumpt
	$(TOOL) staticcheck ./...
	$(GO) fix -diff ./...
	$(call each,$(TOOL) staticcheck ./... && $(GO) fix -diff ./...)
	@dead="$$($(TOOL) deadcode -test ./...)" || exit 1; \
	if [ -n "$$dead" ]; then echo "$$dead"; exit 1; fi
	@unformatted="$$($(TOOL) gofumpt -l .)" || exit 1; \
	if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi

fmt: ## format the code and bring it up to date with the language
	$(GO) fix ./...
	$(TOOL) gofumpt -w .

unit: ## unit tests and style, with the race detector; of each simulation a tenth or less
	$(GO) test -count=1 ./internal/redisserver # installs it for the others
	$(GO) test -race -short -count=1 -timeout 30m $(UNITS)
	printf '%s\n' $(MODULES) | xargs -P 5 -I{} sh -c 'cd {} && $(GO) test -count=1 ./...' # they mostly wait

sim: ## the simulations and the tests that end in Long, whole, without the race detector, which makes them ten times as slow
	$(GO) test -count=1 -run '^TestSim$$|Long$$' ./redlock ./node

seeds: ## many seeds of the simulation, others each time: SEEDS=20000
	$(GO) test -count=1 -timeout 24h -run '^TestSim$$' ./redlock -sim $(SEEDS) -sim-first $(FIRST)

model: ## search all orders of events that a few callers and masters can meet, with the protocol's own code; FLAGS='-nightly' for the larger cases
	$(GO) run ./verify/model $(FLAGS)

mutants: ## break each rule of docs/safety.md in the code and see who catches it, 25 minutes or so: in make soak, not in make test; FLAGS='-run hand-off' for some, -write for the table
	$(GO) run ./verify/mutants $(FLAGS)

image: ## build the Redis image that the chaos tests run (REDLOCK_REDIS_IMAGE=redis:8 names another)
	$(GO) test -count=1 -run '^$$' ./integration

# Tests that mostly wait run beside each other, but not beside those of the other package: some measure time.
chaos: ## real Redis masters in containers, killed, frozen and cut off, and a minute of all faults with a judge; with the race detector
	$(GO) test -race -count=1 -timeout 30m -p 1 -parallel 4 ./integration ./integration/fleet

cover: ## which lines the unit tests reach: out/cover.html
	@mkdir -p out
	$(GO) test -coverpkg=./redlock,./multilock,./node,./node/script,./quorum,./clock -coverprofile=out/cover.txt $(UNITS)
	$(GO) tool cover -html=out/cover.txt -o out/cover.html
	@$(GO) tool cover -func=out/cover.txt | tail -1

fuzz: ## each fuzz target in turn, FUZZ=30s long
	@for package in $(UNITS); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ) $$package || exit 1; \
		done; \
	done
