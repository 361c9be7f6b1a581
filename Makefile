# Everything a contributor runs. The first call of any target sets up its own environment in
# .venv; later calls reuse it until pyproject.toml changes.

VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CLIENTS := $(VENV)/clients
DOCS := $(VENV)/docs
# In more processes than there are processors: most tests wait for other processes, or for time to
# pass. They have the same hash seed, because all of them must find the tests in the same order.
export PYTEST_XDIST_AUTO_NUM_WORKERS ?= $(shell python3 -c 'import os; print(3 * os.cpu_count() // 2)')
export PYTHONHASHSEED ?= $(shell od -An -N2 -tu2 /dev/urandom | tr -d ' ')
# Tests start hundreds of processes. Images of Python often set this, and then each of them compiles
# every module again, which takes longer than all that it does afterwards.
unexport PYTHONDONTWRITEBYTECODE
IN_PROCESSES := -n auto --maxprocesses 4 --dist worksteal
PYTEST := -m pytest $(IN_PROCESSES)
PIP_FLAGS := -q --no-compile --disable-pip-version-check
PIP_INSTALL := -m pip install $(PIP_FLAGS)
# Installs $(2) in the environment $(1). uv takes a tenth of the time that pip takes; pip is tried
# second, as its settings may name an index that uv does not know. Neither compiles modules, since
# most are never imported.
install = $(BIN)/uv pip install -q -p $(1)/bin/python $(2) \
	|| $(BIN)/python -m pip --python $(1)/bin/python install $(PIP_FLAGS) $(2)
# Exact versions, so that a release of a library turns nothing red; empty: the newest ones.
CONSTRAINTS ?= constraints
exact = $(if $(CONSTRAINTS),-c $(CONSTRAINTS)/$(1).txt)

.DEFAULT_GOAL := help
.PHONY: help test test-all test-fast test-clients test-python-clients test-pythons check format demo demo-hot demo-migrate bench fuzz soak docs package newest lock clean

help:  ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /make \1\t/' | expand -t 26

test: $(READY)  ## Set up and run the tests; ARGS="tests/wire -x" is handed to pytest
	@echo "The tests take about five minutes on two cores; make test-fast takes one."
	$(BIN)/python $(PYTEST) -m 'not foreign and not deep' $(ARGS)

test-all: $(READY)  ## Those of `test`, and the deep ones: third stores, kills, long histories
	$(BIN)/python $(PYTEST) $(ARGS)

test-fast: $(READY)  ## The tests without the slow ones, in under a minute; ARGS as for `test`
	$(BIN)/python $(PYTEST) -m 'not foreign and not deep and not slow' $(ARGS)

test-clients: $(CLIENTS)/.ready  ## Real clients in every language that is installed; ARGS="-k go"
	$(CLIENTS)/bin/python -m pytest -m '' -rs tests/clients tests/design/execute/test_aiobotocore.py $(ARGS)

test-python-clients: $(CLIENTS)/.ready  ## Only those in Python
	$(CLIENTS)/bin/python $(PYTEST) tests/clients tests/design/execute/test_aiobotocore.py $(ARGS)

test-pythons: $(READY)  ## The fast tests on every other Python from 3.11 that is found; ARGS as for `test`
	$(BIN)/python scripts/test_pythons.py --constraints=$(CONSTRAINTS) $(IN_PROCESSES) \
	    -m 'not foreign and not deep and not slow' $(ARGS)

check: $(READY)  ## Lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## Let ruff sort the imports and lay out the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

demo: $(READY)  ## Sensor management on a real server; EXIT=1 ends it after the report
	$(BIN)/python examples/demo.py

demo-hot: $(READY)  ## An index with one hot key, live, until its table refuses writes
	$(BIN)/python examples/partitions/demo_hot.py

demo-migrate: $(READY)  ## The key of sensors' measurements changes while a program writes them
	$(BIN)/python examples/migrate/demo_migrate.py

bench: $(READY)  ## Ours beside the peers, in one run; ARGS="--quick", ARGS="--help"
	$(BIN)/python -m benchmarks $(ARGS)

soak: $(READY)  ## Power cuts, kills, faults and load, for hours; HASHRANGE_SOAK=0.1 makes a tenth
	HASHRANGE_SOAK=$${HASHRANGE_SOAK:-1} $(BIN)/python -m pytest -s tests/soak $(ARGS)

fuzz: $(READY)  ## A parser under atheris; ARGS="http|signature|expression|statement|body -max_total_time=60"
	$(BIN)/python $(PIP_INSTALL) -e '.[fuzz]'
	$(BIN)/python tests/fuzz/fuzz.py $(ARGS)

docs: $(DOCS)/.ready  ## The documentation site, in build/site; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict
	@echo "The site is in build/site; open build/site/index.html"

package: $(READY)  ## The wheel and the sdist in dist/, checked and installed as users do
	$(BIN)/python $(PIP_INSTALL) -e '.[package]'
	$(BIN)/python scripts/check_package.py

newest:  ## The tests with the newest libraries instead of the exact versions in constraints/
	$(MAKE) VENV=.venv-newest CONSTRAINTS= check test test-python-clients

lock:  ## Write the newest versions of all libraries to constraints/
	$(MAKE) VENV=.venv-newest CONSTRAINTS= .venv-newest/.ready .venv-newest/clients/.ready .venv-newest/docs/.ready
	for name in dev clients docs; do \
	    python=.venv-newest/$${name#dev}/bin/python; \
	    { echo "# Exact versions, which \`make lock\` writes."; \
	      .venv-newest/bin/python -m pip --python $$python list --format=freeze | grep -vE '^(hashrange|pip|setuptools|wheel)=='; \
	    } > constraints/$$name.txt; \
	done

clean:  ## Remove the environment and the caches; what is built in .peers/ and .clients/ stays
	rm -rf $(VENV) .venv-newest build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

# The first Python that is new enough makes the environment.
$(READY): pyproject.toml constraints/dev.txt
	@for python in python3.11 python3 python3.13 python3.12; do \
	    if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        set -e; \
	        echo "Setting up $(VENV) with $$($$python --version) ..."; \
	        $$python -m venv --clear $(VENV); \
	        $(BIN)/python $(PIP_INSTALL) $(call exact,dev) uv || true; \
	        $(call install,$(VENV),$(call exact,dev) -e '.[dev]'); \
	        touch $@; \
	        exit 0; \
	    fi; \
	done; \
	echo "hashrange needs Python 3.11 or newer; none was found on PATH." >&2; exit 1

$(CLIENTS)/.ready: $(READY)
	$(BIN)/python -m venv --clear --without-pip $(CLIENTS)
	$(call install,$(CLIENTS),$(call exact,clients) -e '.[clients]')
	touch $@

$(DOCS)/.ready: $(READY) docs/requirements.txt
	$(BIN)/python -m venv --clear --without-pip $(DOCS)
	$(call install,$(DOCS),$(call exact,docs) -r docs/requirements.txt)
	touch $@
