# Windlass. `make help` says what each target does; each one installs what it needs.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
CARGO ?= cargo
PREFIX ?= $(HOME)/.local

.PHONY: help
help: ## Say what each target does
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## See a canary, a bad version and its revert; no cluster needed (under a minute; ARGS=--stay keeps it open)
	@$(CARGO) build --package windlass
	@target/debug/windlass demo $(ARGS)

.PHONY: demo-real
demo-real: build testbed ## The same on a real control plane
	@demo/run $(ARGS)

.PHONY: test
test: lint testbed helm argo build ## Run everything: format, lints, licences, unit, property, golden and real-cluster tests
	@tests/run

.PHONY: conformance
conformance: testbed build ## Compare the simulator with real control planes, with mutating policies and without: requests and every scenario
	@$(CARGO) test --quiet --package windlass-cluster-tests --test conformance -- --nocapture
	@WINDLASS_TEST_HOLD=partition $(CARGO) test --quiet --package windlass-cluster-tests --test conformance -- --nocapture
	@WINDLASS_CONFORMANCE=all $(CARGO) test --quiet --package windlass-cluster-tests --test scenarios -- --nocapture
	@WINDLASS_CONFORMANCE=all WINDLASS_TEST_HOLD=partition $(CARGO) test --quiet --package windlass-cluster-tests --test scenarios -- --nocapture

.PHONY: mutations
mutations: ## Put deliberate bugs in, one at a time, and see that the simulator catches each (about 30 minutes)
	@tests/mutations/run $(ARGS)

.PHONY: lint
lint: ## Check format, lints (warnings are errors), licences, banned crates, and that the deliberate bugs still apply
	@echo "== format"; $(CARGO) fmt --all --check
	@echo "== lints"; $(CARGO) clippy --quiet --workspace --all-targets --features windlass/faults -- -D warnings
	@echo "== licences and banned crates"; tests/licences
	@echo "== deliberate bugs"; for bug in tests/mutations/*.patch; do git apply --check $$bug; done

.PHONY: build
build: ## Build the binary, and the kubectl plugin beside it
	@$(CARGO) build --quiet --package windlass --features faults
	@ln -sf windlass target/debug/kubectl-windlass

.PHONY: cluster
cluster: testbed ## Start a control plane for a person; prints the KUBECONFIG line; Ctrl-C ends it
	@exec "$$(testbed/build)/testbed" up --foreground

.PHONY: testbed
testbed: ## Build the control plane (about 7 minutes the first time, nothing after)
	@testbed/build > /dev/null

.PHONY: helm
helm: ## Build Helm, which checks the chart (about 3 minutes the first time, nothing after)
	@testbed/helm/build > /dev/null

.PHONY: argo
argo: ## Build the controller of Argo Rollouts, beside which Windlass is tried (about 5 minutes the first time, nothing after)
	@testbed/argo/build > /dev/null

.PHONY: manifests
manifests: build testbed ## Write what is made from other files in manifests/ and charts/
	@manifests/generate

.PHONY: bench
bench: testbed ## Measure, counted at the API server; writes bench/RESULTS.md (about 10 minutes)
	@$(CARGO) build --quiet --release --package windlass --package windlass-bench
	@WINDLASS_BIN=$(CURDIR)/target/release/windlass target/release/windlass-bench

SEEDS ?= 1000000
MINUTES ?= 60

.PHONY: soak
soak: ## Play seeds, optimised, on every core: SEEDS=1000000 of them, or as many as MINUTES=60 allow
	@$(CARGO) build --quiet --release --package windlass-bench --bin windlass-soak
	@SEEDS=$(SEEDS) MINUTES=$(MINUTES) target/release/windlass-soak

.PHONY: install-plugin
install-plugin: ## Install windlass and kubectl-windlass into PREFIX/bin (default: ~/.local)
	@$(CARGO) build --quiet --release --package windlass
	@install -D target/release/windlass $(PREFIX)/bin/windlass
	@ln -sf windlass $(PREFIX)/bin/kubectl-windlass
	@echo "installed $(PREFIX)/bin/windlass and kubectl-windlass"
