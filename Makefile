# goodput: `make` alone prints what there is. Needs python3 (3.11 or newer) or uv, nothing else.

SHELL := /bin/sh
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
# Set by the recipes below: what is installed is newer than pyproject.toml.
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev

.DEFAULT_GOAL := help
.PHONY: help setup dev demo test lint format bench docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## make .venv with the goodput command in it

demo: $(READY) ## simulate a small fleet, account for it, write the weekly report
	@$(BIN)/goodput demo --out demo

test: $(READY_DEV) lint ## lint, types, layers, then the whole test suite
	$(BIN)/pytest --numprocesses auto --dist loadfile

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

docs: $(READY) ## write the generated page of docs/ anew
	$(BIN)/python docs/make_data_dictionary.py

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
	@echo "installing goodput into $(VENV) (about 700 MB, a minute or two) …" >&2
	@$(INSTALL) --editable .
	@touch $@

$(READY_DEV): $(READY)
	@echo "installing the tools for tests and lint …" >&2
	@$(INSTALL) --group dev
	@touch $@
