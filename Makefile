# Everything a newcomer needs, from a clean clone: `make demo`, `make test-fast`, `make check`.
#
# PYTHON chooses the interpreter the environment is built with: make test PYTHON=python3.12
# JOBS is how many processes run the tests, ARGS narrows them: make test JOBS=1 ARGS="-k postcode"

PYTHON ?=
VENV   := .venv
BIN    := $(VENV)/bin
USE    := $(VENV)/.installed
DEV    := $(VENV)/.installed-dev
JOBS   ?= auto
ARGS   ?=
OUTPUT ?= demo-output

# Tests that share a Spark session or a server stay in one process (tests/conftest.py groups them).
PYTEST := $(BIN)/python -m pytest -q -n $(JOBS) --dist loadgroup
FAST   := not spark and not postgres and not browser and not slow

# Tests start many processes, each of which would compile again whatever is not kept compiled.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-checked cover check docs links bench fuzz faults oracle weaknesses wheel wheels clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s  %s\n", $$1, $$2 }' Makefile

demo: $(USE) ## the whole way on a made-up hospital table, into demo-output/
	@$(BIN)/tclose demo --output $(OUTPUT) --force

test: $(DEV) ## run all tests and all doctests
	@$(PYTEST) $(ARGS)

test-fast: $(DEV) ## run what needs no server, no browser and no patience, in two minutes
	@$(PYTEST) -m "$(FAST)" $(ARGS)

# The sanitizers' library must be loaded before Python is; what Python itself leaks is not ours.
# Java and the browser do their own signals: their tests say nothing about kernels.
CHECKED := TCLOSE_KERNELS=checked UBSAN_OPTIONS=print_stacktrace=1 \
    ASAN_OPTIONS=detect_leaks=0:handle_segv=0:allocator_may_return_null=1
test-checked: $(DEV) ## run the tests with kernels that check every access to memory
	@TCLOSE_KERNELS=checked $(BIN)/python setup.py -q build_ext --inplace --force
	@$(CHECKED) LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libubsan.so)" \
	    $(PYTEST) -m "not spark and not browser" $(ARGS); \
	status=$$?; $(BIN)/python setup.py -q build_ext --inplace --force; exit $$status

cover: $(DEV) ## the same, and which lines of distance, requirements and verify it reaches
	@$(PYTEST) -m "$(FAST)" --cov=tclose.distance --cov=tclose.requirements \
	    --cov=tclose.verify --cov-branch --cov-report=term-missing:skip-covered $(ARGS)

check: $(DEV) ## style, types and the rules about who may import whom
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

docs: $(DEV) ## the site, into build/docs; a warning or a broken link is an error
	@$(BIN)/python -m sphinx -q -W --keep-going -E -d build/doctrees docs build/docs
	@echo "build/docs/index.html"

# Needs a network; the site has few links to other places, and `make docs` checks those within.
links: $(DEV) ## ask whether the pages that the site links to elsewhere still exist
	@$(BIN)/python -m sphinx -q -b linkcheck -d build/doctrees docs build/links

bench: $(DEV) ## run every script in benchmarks/
	@found=; \
	for script in benchmarks/*.py; do \
	    [ -f "$$script" ] || continue; \
	    found=yes; echo "== $$script"; \
	    $(BIN)/python "$$script" || exit 1; \
	done; \
	[ -n "$$found" ] || echo "benchmarks/ holds no script"

SECONDS ?= 60
TABLES  ?= 2000
fuzz: $(DEV) ## feed damaged files to every reader, odd requests to the studio: make fuzz SECONDS=600
	@$(BIN)/python tools/fuzz/run.py --seconds $(SECONDS)

KILLS   ?= 200
faults: $(DEV) ## kill and starve runs, on files, PostgreSQL and Spark: make faults KILLS=20
	@$(BIN)/python tools/faults.py --kills $(KILLS)
	@$(BIN)/python tools/engine_faults.py --postgres $$(($(KILLS) / 4)) --spark $$(($(KILLS) / 20))

oracle: $(DEV) ## judge random tables by the definitions alone: make oracle TABLES=100000
	@$(BIN)/python tools/oracle/judge.py --tables $(TABLES) --releases $$(($(TABLES) / 20))

# What is known of packages needs a network; where there is none, the code alone is looked at.
weaknesses: $(DEV) ## look for known weaknesses in the code and in what it depends on
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check bandit pip-audit
	@$(BIN)/python -m bandit --quiet --recursive src --severity-level high
	@$(BIN)/python -m pip_audit --progress-spinner off || echo "pip-audit did not finish" >&2

wheel: $(DEV) ## build source archive, wheel and SBOM, equal bytes each time, and try the wheel
	@rm -rf dist build/wheel-trial
	@$(BIN)/python tools/package.py dist
	@$(BIN)/python -m venv build/wheel-trial
	@build/wheel-trial/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	@cd build/wheel-trial && bin/tclose demo --output demo

wheels: $(DEV) ## the same from the source archive, under every Python on this machine
	@$(BIN)/python tools/try_pythons.py dist

clean: ## remove the environment, caches and everything made
	@rm -rf $(VENV) demo-output build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@rm -rf .import_linter_cache .coverage
	@find src -name '*.so' -delete; rm -f src/tclose/kernels/built.json
	@find src tests benchmarks tools -name __pycache__ -type d -prune -exec rm -rf {} +

# A candidate must run, not only exist: version managers leave launchers that refuse to start.
$(BIN)/python:
	@chosen=; \
	for candidate in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11); do \
	    if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	        chosen=$$candidate; break; \
	    fi; \
	done; \
	if [ -z "$$chosen" ]; then \
	    echo "tclose needs Python 3.11 or newer; none of these is:" \
	        "$(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11)." >&2; \
	    echo "Install one, or name it: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; \
	    exit 1; \
	fi; \
	echo "Creating $(VENV) with $$("$$chosen" --version)"; \
	"$$chosen" -m venv $(VENV)

$(USE): pyproject.toml | $(BIN)/python
	@echo "Installing tclose into $(VENV) (once; takes a minute)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $(USE)

$(DEV): pyproject.toml | $(BIN)/python
	@echo "Installing tclose and its development tools into $(VENV) (once; takes a minute or two)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(USE) $(DEV)
