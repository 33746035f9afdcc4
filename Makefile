# make chat and make test do all the set-up they need. The environment lives in .venv; a stamp named after the checksum of
# its inputs says it is whole, so it is built once, again when an input changes, and again after an interrupted install.

PYTHON ?= python3
INPUTS := pyproject.toml constraints.txt
SUM := $(shell cat $(INPUTS) | cksum | cut -d' ' -f1)
RUN := .venv/.ready-run-$(SUM)
DEV := .venv/.ready-dev-$(SUM)
PIP := .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help chat test check bench clean

help: ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

chat: $(RUN) ## talk to the built-in listener
	@.venv/bin/harken chat

test: $(DEV) ## run every test
	@OMP_NUM_THREADS=1 .venv/bin/python -m pytest -n 2 --dist loadgroup

check: $(DEV) ## ruff, mypy --strict and the fast tests
	@.venv/bin/ruff check
	@.venv/bin/ruff format --check
	@.venv/bin/mypy
	@OMP_NUM_THREADS=1 .venv/bin/python -m pytest -n 2 --dist loadgroup -m 'not slow' -q

bench: $(DEV) ## measure speed and memory; figures go to benchmarks/results
	@.venv/bin/python -m benchmarks

clean: ## remove the environment and caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/.made:
	@command -v $(PYTHON) >/dev/null || { echo "harken needs Python 3.11 or newer; none found as '$(PYTHON)' (set PYTHON=...)" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "harken needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V) (set PYTHON=...)" >&2; exit 2; }
	@echo "Setting up .venv (once, a few minutes) ..." >&2
	@$(PYTHON) -m venv --clear .venv
	@touch $@

$(RUN): | .venv/.made
	@rm -f .venv/.ready-*
	@echo "Installing harken and what it needs ..." >&2
	@$(PIP) --editable .
	@.venv/bin/harken chat < /dev/null
	@touch $@

$(DEV): $(RUN)
	@echo "Installing the test tools ..." >&2
	@$(PIP) --editable '.[dev,meteor,browser,ray]'
	@touch $@
