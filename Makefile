# Everything a developer or CI runs. `make` lists it.
#
# build, test and emulator need Go and the module proxy, nothing else. The
# tools (linter, formatter, benchstat) are pinned in tools/go.mod and built
# from source on first use; the race detector needs a C compiler.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
TOOL    := $(GO) tool -modfile=tools/go.mod
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
# The date of the commit, not of the build: the same sources give the same binary.
DATE    ?= $(shell git log -1 --format=%cI 2>/dev/null)
LDFLAGS := -s -w $(if $(VERSION),-X main.version=$(VERSION) -X main.stamp=$(VERSION) -X github.com/dorisload/benthos-doris/output.stamp=$(VERSION)) $(if $(DATE),-X main.date=$(DATE))

# Settings for single targets, e.g. `make fuzz FUZZTIME=5m`.
FUZZTIME  ?= 30s
BENCH     ?= .
COUNT     ?= 6
TESTFLAGS ?=
ARGS      ?=
SEEDS     ?= 1000

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^##@ / {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Build and run

.PHONY: build
build: ## Static binaries into bin/ (VERSION=... to stamp another version)
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/benthos-doris ./cmd/doris-emulator

# With the flags of build, so that what both need is compiled once.
.PHONY: demo
demo: build ## Load thousands of real events through a pipeline into the emulator and count them on both sides (ARGS=-keep to look at it then)
	@CGO_ENABLED=0 $(GO) run -trimpath ./cmd/demo $(ARGS)

.PHONY: screenshot
screenshot: ## Make the picture of the emulator's page anew (needs Chromium)
	REQUIRE_CHROMIUM=1 $(GO) test -count=1 -run '^TestPicture$$' ./test/page -args -picture=$(CURDIR)/docs/images/emulator.png

.PHONY: emulator
emulator: ## Run the Doris emulator (ARGS='-help' lists its flags)
	$(GO) run ./cmd/doris-emulator $(ARGS)

# The same archives as goreleaser makes (.goreleaser.yaml), without it. The same commit gives the same bytes.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
DIST_FILES := LICENSE README.md CHANGELOG.md config docs resources/*.tables.yaml resources/grafana resources/prometheus

.PHONY: dist
dist: ## Archives for all PLATFORMS into dist/, with SHA256SUMS
	@rm -rf dist; mkdir -p dist; version='$(patsubst v%,%,$(or $(VERSION),unknown))'; epoch=$$(git log -1 --format=%ct); \
	for platform in $(PLATFORMS); do \
		os=$${platform%/*}; arch=$${platform#*/}; name=benthos-doris_$${version}_$${os}_$${arch}; echo "$$name"; \
		mkdir -p "dist/$$name"; \
		GOOS=$$os GOARCH=$$arch CGO_ENABLED=0 $(GO) build -trimpath -tags timetzdata -ldflags '$(LDFLAGS)' -o "dist/$$name/" ./cmd/benthos-doris ./cmd/doris-emulator; \
		tar -c --exclude=testdata $(DIST_FILES) | tar -x -C "dist/$$name"; \
		tar -c --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw --mtime="@$$epoch" -C dist "$$name" | gzip -9n >"dist/$$name.tar.gz"; \
		rm -r "dist/$$name"; \
	done
	@cd dist && sha256sum *.tar.gz | tee SHA256SUMS

.PHONY: image
image: ## A container image benthos-doris (needs docker)
	docker build -f resources/docker/Dockerfile --build-arg VERSION='$(VERSION)' --build-arg DATE='$(DATE)' -t benthos-doris .

##@ Test

.PHONY: test
test: ## Run the tests
	$(GO) test -shuffle=on $(TESTFLAGS) ./...

.PHONY: race
race: ## Run the tests with the race detector
	@race=-race; cc=$$($(GO) env CC); \
	if ! command -v "$${cc%% *}" >/dev/null; then \
		echo "No C compiler ($$cc) was found and the race detector needs one: testing without it."; \
		race=; \
	fi; \
	set -x; $(GO) test $$race -shuffle=on $(TESTFLAGS) ./...

# What the race detector, under which pools forget at random, cannot count.
.PHONY: allocations
allocations: ## Run the tests that count allocations
	$(GO) test -count=1 -run 'Allocation|Memory' $(TESTFLAGS) ./streamload/encode ./test/bench

# Minutes. A seed that fails says how to see it again.
.PHONY: chaos
chaos: ## Faults, redelivery and killed processes, with many seeds (SEEDS=n), and what finds a broken client
	$(GO) test ./test/chaos -count=1 -timeout=0 -v -run . $(TESTFLAGS) -args -chaos.seeds=$(SEEDS) -chaos.kills=$$(( $(SEEDS) / 40 + 1 )) -chaos.mutants \
		| grep -Ev '^ *(=== |--- PASS)'

# A real Doris: DORIS_FE_URL names one, or a container engine runs one (resources/doris/compose.yaml).
DORIS_COMPOSE := docker compose -f resources/doris/compose.yaml
DORIS_FE      := http://172.28.80.2:8030

.PHONY: doris
doris: ## Start a real Doris in containers and wait until it takes loads (needs docker)
	$(DORIS_COMPOSE) up -d
	@echo "waiting for a BE that is alive ..."; \
	for _ in $$(seq 120); do \
		if curl -fsS -m 5 $(DORIS_FE)/api/health 2>/dev/null | grep -q '"online_backend_num":[1-9]'; then \
			curl -fsS -u root: -H 'Content-Type: application/json' -d '{"stmt":"CREATE DATABASE IF NOT EXISTS benthos_test"}' $(DORIS_FE)/api/query/internal/information_schema; \
			echo; echo "$(DORIS_FE) takes loads"; exit 0; \
		fi; \
		sleep 5; \
	done; \
	echo "no BE became alive; see $(DORIS_COMPOSE) logs"; exit 1

.PHONY: test-doris
test-doris: ## Run the tests that apply against the Doris at DORIS_FE_URL, or against one in containers
	@fe=$${DORIS_FE_URL:-}; \
	if [ -z "$$fe" ]; then \
		if ! docker info >/dev/null 2>&1; then \
			echo "NOT RUN: DORIS_FE_URL is not set, and no container engine is at hand."; \
			echo "make test-doris DORIS_FE_URL=http://fe:8030 DORIS_DB=a_database (DORIS_USER, DORIS_PASSWORD) runs them against a cluster of yours."; \
			exit 1; \
		fi; \
		$(MAKE) --no-print-directory doris; fe=$(DORIS_FE); \
	fi; \
	set -x; DORIS_FE_URL=$$fe DORIS_DB=$${DORIS_DB:-benthos_test} $(GO) test -count=1 -v -run '^(TestEveryServer|TestDisturbed)$$/^real_server' $(TESTFLAGS) ./test/contract

.PHONY: cover
cover: ## Test coverage over all packages, into coverage.out
	$(GO) test -shuffle=on -coverpkg=./... -coverprofile=coverage.out $(TESTFLAGS) ./...
	$(GO) tool cover -func=coverage.out | tail -n 1

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME
	@{ grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . || true; } | sort | while IFS=: read -r file func; do \
		dir=$$(dirname "$$file"); func=$${func#func }; echo "$$func in $$dir"; \
		$(GO) test -run '^$$' -fuzz "^$$func\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s "$$dir" </dev/null || exit 1; \
	done

.PHONY: bench
bench: ## Benchmarks into bin/bench.txt (BENCH=regexp COUNT=n; BASE=file compares with an older run)
	@mkdir -p bin
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./... | tee bin/bench.txt
	$(TOOL) benchstat $(BASE) bin/bench.txt

.PHONY: examples
examples: ## Lint the pipelines in config/ and in all pages, and run those in config/
	$(GO) test $(TESTFLAGS) ./test/examples/...

##@ Check

.PHONY: fmt
fmt: ## Format the code
	$(TOOL) golangci-lint fmt ./...

.PHONY: fmt-check
fmt-check: ## Fail if gofumpt would change a file
	@unformatted=$$($(TOOL) gofumpt -l .); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run 'make fmt':"; echo "$$unformatted"; exit 1; fi

.PHONY: vet
vet: ## go vet
	$(GO) vet ./...

.PHONY: lint
lint: ## golangci-lint, with the rules on who may import what
	$(TOOL) golangci-lint run --allow-parallel-runners ./...

.PHONY: tidy-check
tidy-check: ## Fail if a go.mod or go.sum is not tidy
	$(GO) mod tidy -diff
	cd tools && $(GO) mod tidy -diff

.PHONY: docs
docs: ## Write the generated parts of the docs
	$(GO) run ./cmd/docsgen

.PHONY: docs-check
docs-check: ## Fail if the generated parts of the docs are out of date
	$(GO) run ./cmd/docsgen -check

##@ CI

.PHONY: download
download: ## Download the modules
	$(GO) mod download
	cd tools && $(GO) mod download

# In this order, so that what fails fast fails first and the verdict of the
# tests stands at the end. Inputs of fuzz targets are counted, not timed: at the
# end of a time Go fails a target now and then with "context deadline exceeded"
# where nothing is wrong.
CI_FUZZTIME ?= 5000x
CI_STEPS    := download fmt-check vet build tidy-check docs-check lint fuzz allocations race

.PHONY: ci
ci: ## All checks as CI runs them
	@for step in $(CI_STEPS); do \
		printf '\n==> %s (%ss so far)\n' "$$step" "$$SECONDS"; \
		$(MAKE) --no-print-directory "$$step" FUZZTIME=$(CI_FUZZTIME) || exit 1; \
	done
