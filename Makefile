# goodput: `make` alone prints what there is. Needs python3 (3.11 or newer) or uv, nothing else.

SHELL := /bin/sh
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
# Set by the recipes below: what is installed is newer than pyproject.toml.
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
# What tests use and PyPI does not have: an Azure server, an npm package.
EMULATORS := $(VENV)/emulators/.ready

.DEFAULT_GOAL := help
.PHONY: help setup dev demo test test-cluster lint format bench docs screenshots clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## make .venv with the goodput command in it

demo: $(READY) ## simulate a small fleet, account for it, write the weekly report
	@$(BIN)/goodput demo --out demo

test: $(READY_DEV) $(EMULATORS) lint ## lint, types, layers, then the whole test suite
	$(BIN)/pytest --numprocesses auto --dist loadfile

# A cluster of your own: GOODPUT_TEST_KUBECONFIG=file (of an administrator, with a token). Without one,
# a control plane is built from Debian's source package, once (as root, 5 to 12 minutes), and started.
CONTROL_PLANE ?= .control-plane

test-cluster: $(READY_DEV) ## the contract tests of the collectors on a real Kubernetes API server
ifdef GOODPUT_TEST_KUBECONFIG
	$(BIN)/pytest tests/cluster
else
	test -x $(CONTROL_PLANE)/kube-apiserver || tests/cluster/build.sh $(CONTROL_PLANE)
	$(BIN)/python tests/cluster/control_plane.py $(CONTROL_PLANE) $(BIN)/pytest tests/cluster
endif

lint: $(READY_DEV) ## ruff, mypy, import layers, sqlfluff
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/sqlfluff lint --processes 0 sql

dev: $(READY_DEV) ## add the tools for tests and lint to .venv

format: $(READY_DEV) ## let ruff and sqlfluff rewrite what they can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/sqlfluff fix sql

bench: $(READY_DEV) ## benchmarks, one JSON object a line
	@$(BIN)/python -m benchmarks

docs: $(READY) ## write the generated pages of docs/ and the dashboards anew
	$(BIN)/python docs/make_data_dictionary.py
	$(BIN)/python docs/make_prometheus_metrics.py
	$(BIN)/python dashboards/grafana

screenshots: $(READY_DEV) demo ## make the pictures of docs/ anew from the demo's report
	$(BIN)/python docs/make_screenshots.py demo/report/report.html

clean: ## remove the environment and what the demo made
	rm -rf $(VENV) demo

# Three ways to the same environment: uv; venv with pip; venv on a Debian without ensurepip, into
# which the system's pip installs (it may not install into the system itself, PEP 668).
$(BIN)/python:
ifdef UV
	@uv venv --quiet $(VENV)
else
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "goodput needs Python 3.11 or newer, found `$(PYTHON) --version 2>&1`;" \
	         "name another with: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || $(PYTHON) -m venv --clear --without-pip $(VENV)
	@$(PYTHON) -m pip --python $(BIN)/python install --quiet --upgrade 'pip>=25.1' || { \
	    rm -rf $(VENV); \
	    echo "no pip for $(PYTHON): install python3-venv or python3-pip, or uv" >&2; exit 2; }
endif

ifdef UV
INSTALL := uv pip install --quiet --python $(BIN)/python
else
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif

$(READY): $(BIN)/python pyproject.toml
	@echo "installing goodput into $(VENV) (about 950 MB, a minute or two) …" >&2
	@$(INSTALL) --editable .
	@touch $@

$(READY_DEV): $(READY)
	@echo "installing the tools for tests and lint …" >&2
	@$(INSTALL) --group dev
	@touch $@

# Without npm, or without its registry, the tests that need the server are skipped.
$(EMULATORS): $(READY_DEV)
	@mkdir -p $(@D)
	@! command -v npm >/dev/null || { echo "installing Azurite …" >&2; \
	    npm install --silent --no-save --ignore-scripts --prefix $(@D) azurite@3 >/dev/null || \
	    echo "no Azurite: tests of Azure are skipped" >&2; }
	@touch $@
