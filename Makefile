# make lists the targets; make demo and make test are the two to begin with.

GO    ?= go
TOOL  := $(GO) tool -modfile=$(CURDIR)/verify/tools/go.mod
# Which tests belong to make test and which to make verify shows in where they are and what they are called. Those of
# the packages below integration and verify, of modules of their own but the command's, and those that end in Long are
# verify's.
UNITS  = $$($(GO) list ./... | grep -vE '/(integration|verify)(/|$$)')
# Where goroutines meet; others are compiled once, without the race detector. The Lua of the masters in memory goes
# without it too: it runs under a master's lock, and takes a third of all the time with it.
RACY   = -race "-gcflags=github.com/yuin/gopher-lua/...=-race=false" ./redlock ./multilock ./node ./node/server ./doctor/probe
SINGLE = $$($(GO) list ./... | grep -vE '/(integration|verify)(/|$$)|redlock/(redlock|multilock|node|node/server|doctor/probe)$$')
LONG   = grep -rlE '^func Test\w*Long\(' --include=*_test.go . | xargs -n 1 dirname | sort -u
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
.PHONY: help demo release bench test verify soak vet unit search trial lint systems fmt long model chaos modules seeds mutants image cover fuzz
# Checks print in the order they run, also under make -j.
.NOTPARALLEL:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## see the lock work: five masters in memory, two contenders, masters that die
	@$(GO) run -C cmd/redlock . demo

bench: ## measure against other locks on five redis-server processes: bench/RESULTS.md; FLAGS='-run handoff' and the like for a part
	@cd bench && $(GO) run . -page . $(FLAGS)

release: ## the command for six systems, in out/, with their checksums; the Dockerfile makes an image of it
	@for target in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do \
		os=$${target%/*} arch=$${target#*/}; out=out/redlock-$$os-$$arch; [ $$os = windows ] && out=$$out.exe; \
		(set -x; GOOS=$$os GOARCH=$$arch CGO_ENABLED=0 $(GO) build -C cmd/redlock -trimpath -ldflags='-s -w' -o $(CURDIR)/$$out .) || exit 1; \
	done
	cd out && sha256sum redlock-* | tee SHA256SUMS

test: vet unit search trial ## tells that it works: all unit tests, and in short what make verify does; installs or builds what it needs

verify: lint systems long ## all else that must pass before a change lands, a quarter of an hour
	printf '%s\n' '$(MAKE) chaos' 'nice -n 19 $(MAKE) model' | xargs -P 2 -I{} sh -c '{}' # chaos mostly waits, and its masters must not
	$(MAKE) modules

soak: ## the long forms, hours: many seeds of the simulations, trials on real masters (make soak SEED=7 MINUTES=10), also of an old build beside this one, all tests with the race detector, the model's larger cases, mutants
	$(MAKE) seeds
	$(GO) run ./integration/chaos -seed $(SEED) -minutes $(MINUTES)
	$(GO) run ./integration/chaos -seed $(SEED) -minutes 2 -clients 8 -old $$(cat integration/chaos/OLD)
	$(GO) test -count=1 -timeout 30m -run TestOverload ./integration -full
	cd examples && $(GO) test -count=1 -run TestChangesByThePage ./pages -full
	for server in redis8 valkey8 valkey9; do \
		REDLOCK_REDIS_IMAGE=redlock-test/$$server:local $(GO) test -count=1 -timeout 30m -parallel 4 -skip TestServers ./integration || exit 1; done
	$(GO) test -race -count=1 -timeout 60m -p 1 -parallel 4 ./...
	$(call each,$(GO) test -race -count=1 ./...)
	$(GO) run ./verify/model -nightly
	$(GO) run ./verify/mutants

vet: ## go vet, for this system
	$(GO) vet ./...
	cd cmd/redlock && $(GO) vet .

systems: ## go vet, for the other systems that the library is built for, and for 32 bits
	@for system in linux/386 darwin/arm64 windows/amd64; do for module in . cmd/redlock; do \
		(set -x; cd $$module && GOOS=$${system%/*} GOARCH=$${system#*/} CGO_ENABLED=0 $(GO) vet ./...) || exit 1; done; done

lint: ## staticcheck, go fix, dead code, gofumpt
	$(TOOL) staticcheck ./...
	$(GO) fix -diff ./...
	$(call each,$(TOOL) staticcheck ./... && $(GO) fix -diff ./...)
	@dead="$$($(TOOL) deadcode -test ./... && cd cmd/redlock && $(TOOL) deadcode -test .)" || exit 1; \
	if [ -n "$$dead" ]; then echo "$$dead"; exit 1; fi
	@unformatted="$$($(TOOL) gofumpt -l .)" || exit 1; \
	if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi

fmt: ## format the code and bring it up to date with the language
	$(GO) fix ./...
	$(TOOL) gofumpt -w .

unit: ## unit tests and style, with the race detector where goroutines meet; of each simulation a tenth
	printf '%s\0' '$(RACY)' "$$(echo $(SINGLE))" "-C cmd/redlock ." | xargs -0 -P 2 -I{} sh -c '$(GO) test {} -vet=off -count=1 -timeout 10m -skip "Long$$"' # some mostly wait

long: ## the tests that end in Long: the simulations, whole; without the race detector, which makes them ten times as slow
	$(LONG) | xargs -P 2 -I{} sh -c '$(GO) test -C {} -count=1 -timeout 20m -run "Long$$" .'
	$(GO) test -count=1 -timeout 20m ./verify/...

modules: ## the tests of the modules of their own: what imports databases, browsers, other locks
	$(GO) test -count=1 ./internal/redisserver # installs it for the others
	printf '%s\n' $(filter-out cmd/redlock,$(MODULES)) | xargs -P 5 -I{} sh -c 'cd {} && $(GO) test -count=1 -parallel 4 -timeout 10m ./...' # they mostly wait

seeds: ## many seeds of the simulation, others each time: SEEDS=20000
	$(GO) test -count=1 -timeout 24h -run '^TestSim$$' ./redlock -sim $(SEEDS) -sim-first $(FIRST)

model: ## search all orders of events that a few callers and masters can meet, with the protocol's own code; FLAGS='-nightly' for the larger cases
	$(GO) run ./verify/model $(FLAGS)

search: ## the few small cases of the search that find most broken rules
	$(GO) run ./verify/model -teeth

mutants: ## break each rule of the code (verify/mutants/RULES.md), and see that its tests notice, a quarter of an hour: in make soak; FLAGS='-run hand-off' for some
	$(GO) run ./verify/mutants $(FLAGS)

image: ## build the Redis image that the chaos tests run (REDLOCK_REDIS_IMAGE=redis:8 names another)
	$(GO) test -count=1 -run '^$$' ./integration

trial: ## real Redis masters in containers, which are killed and frozen, as clients are, for a third of a minute, with a judge
	$(GO) run ./integration/chaos -minutes 0.35 -only kill-empty,kill-aof,pause,client-kill-9 -out out/trial

# Tests that mostly wait run beside each other, but not beside those of another package.
chaos: ## real Redis masters in containers, killed, frozen and cut off, and a minute of all faults with a judge
	$(GO) test -count=1 -timeout 30m -p 1 -parallel 4 ./integration/...

cover: ## which lines the unit tests reach: out/cover.html
	@mkdir -p out
	$(GO) test -coverpkg=./redlock,./multilock,./node,./node/server,./node/script,./quorum,./clock -coverprofile=out/cover.txt $(UNITS)
	$(GO) tool cover -html=out/cover.txt -o out/cover.html
	@$(GO) tool cover -func=out/cover.txt | tail -1

fuzz: ## each fuzz target in turn, FUZZ=30s long
	@for package in $(UNITS); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ) $$package || exit 1; \
		done; \
	done
