# The two commands that matter are `make run` and `make test`; both need only
# Go and make. `make help` lists the rest.

GO       ?= go
ADDR     ?= 127.0.0.1:8420
WASMFLAGS = -buildmode=c-shared -trimpath -buildvcs=false -ldflags='-s -w'
# Tools of your own in plugins/ are not built here: a Go module of their own, or in another language.
PLUGINS   = $(filter-out $(patsubst plugins/%/go.mod,%,$(wildcard plugins/*/go.mod)),$(patsubst plugins/%/main.go,%,$(wildcard plugins/*/main.go)))
WASM      = $(foreach p,$(PLUGINS),plugins/$(p)/$(p).wasm)
GUEST     = $(wildcard sdk/guest/*.go sdk/guest/files/*.go sdk/tool/*.go) go.mod

# What tests build and what the engine compiles of it are kept here for all tests.
export WEIR_TEST_CACHE ?= $(abspath build/test-cache)

# The race detector needs a C compiler. It leaves out what reads and compiles
# modules, where no goroutines meet: under it the smallest Go guest takes 21 seconds
# to compile instead of 2, and each start of a host in a test takes three times as long.
# It leaves out SQLite too, which is C translated to Go with memory of its own.
# It must not leave out what has generic code with atomics in it (wazevoapi has):
# the linker may take that copy for all, and then races are seen where none are. And not
# what texts and memory of weir pass through, such as wazero's internal/wasm and regexp:
# a race of weir's own code would not be seen there.
UNWATCHED = github.com/weirhost/weir/host/internal/wasmcheck github.com/weirhost/weir/host/internal/instrument
TRANSLATED = modernc.org/sqlite/lib
# Thousands of generated types, and the SQLite of plugins/database, which outside Wasm only
# its tests run: half of the time in which they compile is inlining, and a request is as
# fast without it.
GENERATED = github.com/anthropics/anthropic-sdk-go github.com/openai/openai-go/v3 github.com/openai/openai-go/v3/live github.com/openai/openai-go/v3/realtime github.com/openai/openai-go/v3/responses github.com/ncruces/go-sqlite3-wasm/v6
COMPILER  = engine/wazevo/ssa/... engine/wazevo/backend/... engine/wazevo/frontend leb128 wasm/binary

# A quarter of the time in which the large packages compile is garbage collection: three
# times the memory, up to 2 GiB, halves it. Tests and programs run with Go's own figures.
LIGHT = -toolexec='env GOGC=400 GOMEMLIMIT=2GiB'

# What a debugger reads is a fifth of the compiler's work, and is linked into no test.
# Stack traces, profiles and the code are the same without it.
SMALL = -gcflags=all=-dwarf=false $(GENERATED:%='-gcflags=%=-l -dwarf=false')

RACE := $(if $(shell command -v $$($(GO) env CC) >/dev/null 2>&1 && [ "$$($(GO) env CGO_ENABLED)" = 1 ] && echo yes), \
  -race $(LIGHT) $(SMALL) $(UNWATCHED:%='-gcflags=%=-race=false -dwarf=false') $(TRANSLATED:%='-gcflags=%=-race=false -dwarf=false') \
  $(COMPILER:%='-gcflags=github.com/tetratelabs/wazero/internal/%=-race=false -dwarf=false'))

# bin/weir has no cgo: a C library makes threads that the walls around guests do not reach.
# What the race detector does not watch is built as bin/weir is, and as guesttest builds
# programs for tests. With cgo, with the paths of this machine or with other flags, all
# packages would be compiled again, which takes a processor some minutes.
FLAGS    = $(LIGHT) -trimpath $(SMALL)
PLAIN_GO = CGO_ENABLED=0 $(GO)

# A program that ends under the race detector waits a second for races by default.
export GORACE ?= atexit_sleep_ms=20

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: plugins build ## build everything and start the daemon (first run: about 4 minutes)
	@echo "[3/4] compiling the tools for this machine (once; about a minute at first)"
	@bin/weir plugin warm
	@echo "[4/4] starting the daemon on $(ADDR)"
	@exec bin/weir serve --addr $(ADDR)

.PHONY: plugins
plugins: ## build the shipped tools to Wasm
	@echo "[1/4] building $(words $(PLUGINS)) tools to Wasm (first time: about 2 minutes)"
	@$(MAKE) --no-print-directory -s $(firstword $(WASM)) # the standard library: two at a time would both compile it
	@$(MAKE) --no-print-directory -s $(WASM)

define wasm_rule
plugins/$(1)/$(1).wasm: $$(wildcard plugins/$(1)/*.go) $(GUEST)
	@echo "      $(1)"
	@GOOS=wasip1 GOARCH=wasm $(GO) build $(LIGHT) $(WASMFLAGS) -o $$@ ./plugins/$(1)
endef
$(foreach p,$(PLUGINS),$(eval $(call wasm_rule,$(p))))

.PHONY: build
build: ## build bin/weir
	@echo "[2/4] building bin/weir (first time: about a minute)"
	@mkdir -p bin
	@$(PLAIN_GO) build $(FLAGS) -o bin/weir ./host/cmd/weir

# Where `make install` puts bin/weir and lib/weir, which weir finds from its own file.
PREFIX ?= $(HOME)/.local
LIB    = $(DESTDIR)$(PREFIX)/lib/weir

# Root installs what a user has built: its PATH often has no Go.
.PHONY: install
install: $(if $(and $(filter 0,$(shell id -u)),$(wildcard bin/weir)),,plugins build) ## put weir and its tools below PREFIX (default ~/.local)
	@mkdir -p $(DESTDIR)$(PREFIX)/bin $(foreach p,$(PLUGINS),$(LIB)/plugins/$(p))
	@cp bin/weir $(DESTDIR)$(PREFIX)/bin/weir.new && mv -f $(DESTDIR)$(PREFIX)/bin/weir.new $(DESTDIR)$(PREFIX)/bin/weir
	@cp tools.toml $(LIB)/
	@for p in $(PLUGINS); do cp plugins/$$p/plugin.toml plugins/$$p/$$p.wasm $(LIB)/plugins/$$p/ || exit 1; done
	@echo "installed $(PREFIX)/bin/weir with $(words $(PLUGINS)) tools in $(PREFIX)/lib/weir"
	@command -v weir >/dev/null || echo 'add it to the PATH: export PATH="$(PREFIX)/bin:$$PATH"'

.PHONY: demo
demo: plugins ## the whole story on this repository's files: no daemon, no network
	@$(GO) run ./examples/demo

# Packages where nothing runs side by side, or whose tests are about guests: there is
# nothing to watch, and they are several times as fast unwatched. rules_test.go holds
# them to it.
ALONE = . ./agent/parse/... ./plugins/... ./sdk/guest/... ./sdk/tool ./host/internal/author ./host/internal/conform ./agent/internal/schematype ./agent/internal/tokens ./host/daemon/web/... ./host/plugin ./host/plugintest/internal/generate ./sdk/js ./sdk/limit/internal/find ./host/internal/callargs ./host/internal/describe ./host/internal/jsonedit ./host/internal/jsonscan ./host/internal/linediff ./host/internal/lines ./host/internal/panics ./host/internal/sandbox/kernel ./host/internal/snippet ./host/internal/text ./host/internal/toolchain ./host/internal/tomlpos ./host/internal/version ./host/internal/wasmcheck ./host/internal/wasmtest

# What of the watched packages is about guests alone: two engines, held to each other
# call by call.
PLAIN = ^TestEngines

# What is about sizes alone takes minutes under the race detector, and is tried without
# it.
SIZES = ^(TestExpensiveSearches|TestAnswersThatCostMuch|TestArgumentsThatCostMuch|TestRepliesAreBounded|TestManyTextsOfOneEvent)$$

# What one goroutine computes for long, in packages that are watched otherwise.
LAWS = ^(TestNoQuotationStartsATool|TestACallInDisguiseIsHeld|TestHonestTurnsAreNotAskedAbout|TestAnUnfinishedCallIsAQuotation|TestACallOfAnotherLookIsAQuotation|TestMarksOfManyBrackets|TestApplyKeepsItsLawsOnHardTexts|TestNeutraliseReadsAFenceOnce|TestAutoLeavesDocumentsAndCodeAlone|TestFlatCarriesAnAnswer|TestOnlyTheBeginningIsKept|TestComparingIsBounded|TestAParrotStartsNothing|TestNoTextBecomesMore)$$

# What make test watches with the race detector: packages whose goroutines share something,
# and of four large ones the tests in which they do. make test-all watches all but ALONE.
RACED = ./agent ./agent/model/internal/wire ./host/approval ./host/archive \
  $(addprefix ./host/daemon/,access approvals client httpjson lease mcpserver openai pulse resume session settings setup sse telemetry turns usage) \
  $(addprefix ./host/internal/,app catalog chat frames history jail lockfile/... mcpclient memory modindex otlp quarantine runner sched snapshot sqlite toolfind upstream watch worker)
SHARED_HOST    = ^Test(Swap|Concurrent|Reload|Watch|Storm|Closed|CloseWhile|CloseEndsCalls|Servers?List|Briefs|ApplyServers|ApplyWhileCallsRun|CallsFinish|CallsWhile|FirstCallWaits|HostsShare|Identical|OneCompile|OneSlowTool|TheFirstCallsLoad|WaitingForAPerson)
SHARED_DAEMON  = ^Test(Resume$$|ATurnEnds|EndATurn|SeveralConnections|JoinARunning|Drain|APanic|ApprovalsOfOneRound|ApprovalEnds|CardAnswered|Pulse|MCPStream|MCPDrain|DeleteWhile|AMatchThatIsBusy|ReloadTakes|TasksAreRequests|Changes|FiftyWrites|ConcurrentTurns|Configure|PurgeWaits|QuotaAtTheEdge|UsersSeeTheirOwn)
SHARED_SCRIPT  = ^Test(Run$$|Cancel|CallsThatNobodyAwaits|DecidedAndNotYetRunning|CrashesAtAStop|Patience|RunTime)
SHARED_SANDBOX = Spare|Thread|Calls|Stop|Recycle

# What a contributor runs after a change; test-all has the rest.
.PHONY: test
test: plugins languages ## run the tests, with the race detector where goroutines share something (8 minutes on two cores)
	@$(MAKE) --no-print-directory -j2 test-raced test-plain

.PHONY: test-raced
test-raced:
ifneq ($(RACE),)
	$(GO) test -vet=off $(RACE) -skip '$(SIZES)|$(LAWS)' -timeout 15m $(RACED)
	$(GO) test -vet=off $(RACE) -run '$(SHARED_DAEMON)' -timeout 15m ./host/daemon
	$(GO) test -vet=off $(RACE) -run '$(SHARED_HOST)' -timeout 15m ./host
	$(GO) test -vet=off $(RACE) -run '$(SHARED_SCRIPT)' -timeout 15m ./host/script
	$(GO) test -vet=off $(RACE) -run '$(SHARED_SANDBOX)' -timeout 15m ./host/internal/sandbox
endif

.PHONY: test-plain
test-plain: build/go.work
	GOWORK=$(abspath $<) $(PLAIN_GO) vet $(FLAGS) -tags clients ./... ./host/bench/...
ifeq ($(RACE),)
	$(PLAIN_GO) test $(FLAGS) -vet=off -skip '$(PLAIN)' -timeout 15m ./...
else
	$(PLAIN_GO) test $(FLAGS) -vet=off -skip '$(PLAIN)' -timeout 15m $$($(GO) list ./... | grep -vxF "$$($(GO) list $(RACED))")
	$(PLAIN_GO) test $(FLAGS) -vet=off -run '$(LAWS)' -timeout 15m ./agent
endif

# Two at a time: what waits for disks and processes leaves the processor to others. The
# page and the hostile plugins come alone: a browser on a busy machine draws late.
.PHONY: test-all
test-all: ready ## also on PostgreSQL, several daemons, npm's clients, a browser, the long forms (CI=true installs what is missing)
	@WEIR_TEST=all $(MAKE) --no-print-directory -j2 test-watched test-unwatched test-bench test-clients
	@CGO_ENABLED=0 $(MAKE) --no-print-directory test-page
	WEIR_HOSTILE=long $(PLAIN_GO) test $(FLAGS) -vet=off -timeout 60m ./host/internal/hostile
ifeq ($(CI),true)
	@$(MAKE) --no-print-directory vulncheck
endif

# The longest package with one goroutine: as the last it would leave a processor idle.
FIRST = github.com/weirhost/weir/host/script

.PHONY: test-watched
test-watched:
ifeq ($(RACE),)
	$(PLAIN_GO) test $(FLAGS) -vet=off -timeout 30m ./...
else
	$(GO) test -vet=off $(RACE) -skip '$(PLAIN)|$(SIZES)|$(LAWS)' -timeout 30m $(FIRST) $$($(GO) list ./... | grep -vxF "$$($(GO) list $(ALONE))")
endif

# What the race detector makes bigger is held to its true bounds without it. The tests
# leave out go vet, which runs over everything.
.PHONY: test-unwatched
test-unwatched: build/go.work
	GOWORK=$(abspath $<) $(PLAIN_GO) vet $(FLAGS) -tags clients ./... ./host/bench/...
ifneq ($(RACE),)
	$(PLAIN_GO) test $(FLAGS) -vet=off -timeout 30m -run 'TestBombs|TestAFolderOfHostilePlugins|TestAllocations|$(SIZES)|$(LAWS)' ./host/daemon ./host/internal/hostile ./host/internal/answer ./sdk/limit ./agent ./agent/model/...
	$(PLAIN_GO) test $(FLAGS) -vet=off -timeout 30m -run '$(PLAIN)' ./host/internal/sandbox
	$(PLAIN_GO) test $(FLAGS) -vet=off -timeout 30m $(ALONE)
endif

.PHONY: test-bench
test-bench: ## try the benchmark programs
	$(GO) -C host/bench test -vet=off $(or $(RACE),$(FLAGS)) -timeout 30m ./...

# Both modules in one workspace: without machine paths, the packages that host/bench uses
# would otherwise be those of another module, and be compiled again.
build/go.work: go.mod host/bench/go.mod
	@mkdir -p build && rm -f $@ && GOWORK=$(abspath $@) $(GO) work init . ./host/bench

# Side by side: building waits for the processor, installing for the network.
.PHONY: ready
ready:
	@$(MAKE) --no-print-directory -j2 plugins toolchains

.PHONY: test-store
test-store: ## run the tests of what is stored on PostgreSQL, in full (make test-all: a part)
	WEIR_TEST_POSTGRES=only $(GO) test -count=1 -vet=off -timeout 30m $$(grep -rlF pgtest.Main --include='*_test.go' ./host | xargs -n1 dirname | sort -u)

.PHONY: test-cluster
test-cluster: ## kill, freeze and cut off DAEMONS (default 3) on one PostgreSQL during TURNS (default 1,000) turns
	WEIR_TEST_POSTGRES=yes WEIR_CLUSTER_DAEMONS=$(or $(DAEMONS),3) WEIR_CLUSTER_TURNS=$(or $(TURNS),1000) WEIR_CLUSTER_OPS=100000 $(GO) test -count=1 -v -timeout 60m ./host/internal/cluster

.PHONY: languages
languages: ## look for what builds plugins in other languages (CI=true installs it)
	@sdk/toolchains.sh

.PHONY: toolchains
toolchains: ## look for that, and for what test-all needs: npm, a browser, PostgreSQL (CI=true installs it)
	@sdk/toolchains.sh all

.PHONY: test-clients
test-clients: plugins toolchains ## try the daemon with clients from npm, if npm is found (CI=true installs it)
	@CGO_ENABLED=0 GO="$(GO)" FLAGS="$(FLAGS)" host/daemon/clients/run.sh

.PHONY: test-page
test-page: plugins toolchains build page-gallery ## try the page in Chromium, if it is found (CI=true installs it)
	@host/daemon/web/journeys/run.sh

.PHONY: vulncheck
vulncheck: ## look for known vulnerabilities in what weir calls (asks vuln.go.dev; CI=true: part of `make test-all`)
	@GO="$(GO)" packaging/vulncheck.sh

.PHONY: test-image
test-image: ## build the binary as packaging/Dockerfile does, and see that it needs no other file (2 minutes)
	WEIR_IMAGE=build $(GO) test -count=1 -timeout 20m -run TestDockerfile .

.PHONY: test-inspector
test-inspector: plugins toolchains ## try the MCP Inspector's CLI mode over HTTP and stdio (its npm package takes 110 MB and 30 s to install)
	@GO="$(GO)" FLAGS="$(FLAGS)" host/daemon/clients/run.sh inspector

.PHONY: test-servers
test-servers: plugins toolchains ## compare eleven MCP servers from npm behind weir with themselves (their packages take 420 MB and a minute to install)
	@CGO_ENABLED=0 GO="$(GO)" FLAGS="$(FLAGS)" host/daemon/clients/run.sh servers

.PHONY: test-hostile
test-hostile: ## the long form of the hostile plugins: true bounds on time, figures for docs/security.md (5 minutes, quiet machine)
	WEIR_HOSTILE=quiet $(GO) test -count=1 -v -timeout 60m ./host/internal/hostile

.PHONY: test-instrument
test-instrument: ## compare every shipped tool, instrumented and recycled after each call, with new instances (5 minutes)
	WEIR_INSTRUMENT=long $(GO) test -count=1 -v -timeout 60m -run TestTools ./host/internal/instrument

.PHONY: soak
soak: ## call the shipped tools CALLS times (default a million) with random arguments, 16 at once
	WEIR_SOAK_CALLS=$(or $(CALLS),1000000) $(GO) test -count=1 -v -timeout 0 ./host/internal/soak

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (default 20s)
	@set -e; for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(or $(FUZZTIME),20s) $$p; done; done

.PHONY: bench
bench: plugins ## one benchmark file per layer
	$(GO) test -run '^$$' -bench . -benchmem ./sdk/... ./agent/... ./host/...

.PHONY: bench-engine
bench-engine: build ## hold the engine against its promises and against Extism's Go SDK (3 minutes, quiet machine)
	@$(GO) -C host/bench build -trimpath -o $(abspath bin)/benchengine ./engine
	@bin/benchengine $(if $(ROWS),-rows '$(ROWS)')

.PHONY: bench-mcp
bench-mcp: build ## calls of a trivial tool over MCP, beside the npm SDK's server (4 minutes, quiet machine, npm)
	@cd host/daemon/clients && { [ node_modules/.package-lock.json -nt package-lock.json ] || { npm ci --no-audit --no-fund --loglevel=error && touch node_modules/.package-lock.json; }; }
	@$(GO) -C host/bench build -trimpath -o $(abspath bin)/benchmcp ./mcp
	@bin/benchmcp

.PHONY: bench-loop
bench-loop: ## what weir adds to a turn, at 1 to 256 clients, beside cloudwego/eino (1 minute, quiet machine, Go module proxy)
	@$(GO) -C host/bench build -trimpath -o $(abspath bin)/benchloop ./loop
	@cd host/bench/loop/testdata/peer && $(GO) build -trimpath -o $(abspath bin)/benchpeer .
	@bin/benchloop -spans -peer bin/benchpeer

.PHONY: bench-streams
bench-streams: ## 1,000 streams at once: time to the first event, memory, what stays behind (10 seconds, quiet machine)
	@$(GO) -C host/bench build -trimpath -o $(abspath bin)/benchloop ./loop
	@bin/benchloop -streams 1000

.PHONY: bench-pass
bench-pass: build ## what weir adds to a request that it passes through, of 70 KB and of 1 MB (10 seconds, quiet machine)
	@$(GO) -C host/bench build -trimpath -o $(abspath bin)/benchpass ./pass
	@bin/benchpass

.PHONY: bench-results
bench-results: build ## long results over MCP beside mark3labs/mcp-go and SQLite alone; polls; the first second (3 minutes, quiet machine, Go module proxy)
	@$(GO) -C host/bench build -trimpath -o $(abspath bin)/benchresults ./results
	@cd host/bench/results/testdata/peer && $(GO) build -trimpath -o $(abspath bin)/benchreportpeer .
	@bin/benchresults $(if $(ROWS),-rows '$(ROWS)')

.PHONY: sizes
sizes: build ## build the same small tool in every language and print its size (takes all toolchains)
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; for l in go rust c assemblyscript js; do \
	  bin/weir plugin new words --lang $$l --dir "$$dir/$$l" >/dev/null && \
	  printf '%-15s' $$l && bin/weir plugin build "$$dir/$$l" 2>/dev/null | sed -n "1s|^$$dir/$$l/||p"; done

.PHONY: eval-parse
eval-parse: ## measure the recogniser on recorded outputs: make eval-parse CORPORA=DIR
	@$(GO) run ./agent/parse/internal/evalparse $(CORPORA)

.PHONY: eval-keep
eval-keep: ## measure which lines of real logs survive a cut: make eval-keep CORPORA=DIR
	@$(GO) run ./sdk/limit/internal/evalkeep $(CORPORA)

.PHONY: eval-find
eval-find: ## measure how often the search for tools finds the right one, and what its prompt costs: make eval-find CORPORA=DIR
	@$(GO) run ./host/internal/toolindex/internal/evalfind $(CORPORA)
	@echo; echo "what 510 tools cost in a prompt, as weir estimates tokens:"
	@WEIR_CORPORA='$(abspath $(CORPORA))' $(GO) test -count=1 -v -run 'TestToolTokens$$' ./host/daemon | sed -n 's/^ *tooltokens_test.go:[0-9]*: /  /p; /^ *--- FAIL/p'

.PHONY: eval-scripts
eval-scripts: ## measure what a script saves against direct calls; hostile scripts, large values, the same answers on every engine
	@$(GO) test -count=1 -v -run 'TestEval' ./host/script ./host/daemon | grep -v '^=== \|^{'

.PHONY: kill-scripts
kill-scripts: ## kill the process of a script before and after everything that it stores, calls and resumes (some 380 times, a minute)
	@WEIR_KILL_EVERYWHERE=1 $(GO) test -count=1 -v -run 'TestKilled$$' ./host/script | grep -v '^=== \|^{'

# The page with the gallery of its components, which no release has.
.PHONY: page-gallery
page-gallery:
	@$(GO) run $(FLAGS) ./host/daemon/web/bundle -dir host/daemon/web -gallery build/page

.PHONY: run-gallery
run-gallery: plugins page-gallery ## start the daemon with the gallery of the page's components at \#/gallery
	$(GO) run -overlay build/page/overlay.json ./host/cmd/weir serve --addr $(ADDR)

.PHONY: bench-page
bench-page: plugins toolchains build ## time the page: a conversation of 300 turns, a result of 5 MB (half a minute, quiet machine, Chromium)
	@host/daemon/web/journeys/run.sh bench.mjs

.PHONY: bench-scripts
bench-scripts: ## start, pause and resume of scripts, and what they add to calls (20 seconds, quiet machine)
	@$(GO) test -run '^$$' -bench 'Start|PauseAndResume|TypeScript|TwentyCalls' -benchtime 300x ./host/internal/scriptvm ./host/script | grep -v '^{'

.PHONY: eval-context
eval-context: ## measure what limits and placeholders save, and that every planted fact is found
	@$(GO) -C host/bench build -trimpath -o $(abspath bin)/evalcontext ./context
	@bin/evalcontext

.PHONY: clean
clean: ## remove what was built
	rm -rf bin build $(WASM)
