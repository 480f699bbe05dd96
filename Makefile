# Everything a newcomer needs, from a clean clone: `make demo`, `make test`, `make check`.
#
# PYTHON chooses the interpreter the environment is built with: make test PYTHON=python3.12

PYTHON ?=
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
OUTPUT ?= demo-output

.DEFAULT_GOAL := help
.PHONY: help demo test check bench clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-6s  %s\n", $$1, $$2 }' Makefile

demo: $(STAMP) ## the whole way on a made-up hospital table, into demo-output/
	@$(BIN)/tclose demo --output $(OUTPUT)

test: $(STAMP) ## run all tests and all doctests (ARGS="-k name" narrows them)
	@$(BIN)/python -m pytest -q $(ARGS)

check: $(STAMP) ## style, types and the rules about who may import whom
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(STAMP) ## run every script in benchmarks/
	@found=; \
	for script in benchmarks/*.py; do \
	    [ -f "$$script" ] || continue; \
	    found=yes; echo "== $$script"; \
	    $(BIN)/python "$$script" || exit 1; \
	done; \
	[ -n "$$found" ] || echo "benchmarks/ holds no script"

clean: ## remove the environment, caches and everything made
	@rm -rf $(VENV) demo-output build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@rm -rf .import_linter_cache
	@find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# A candidate must run, not only exist: version managers leave launchers that refuse to start.
$(BIN)/python:
	@chosen=; \
	for candidate in $(or $(PYTHON),python3 python3.13 python3.12 python3.11); do \
	    if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	        chosen=$$candidate; break; \
	    fi; \
	done; \
	if [ -z "$$chosen" ]; then \
	    echo "tclose needs Python 3.11 or newer; none of these is:" \
	        "$(or $(PYTHON),python3 python3.13 python3.12 python3.11)." >&2; \
	    echo "Install one, or name it: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; \
	    exit 1; \
	fi; \
	echo "Creating $(VENV) with $$("$$chosen" --version)"; \
	"$$chosen" -m venv $(VENV)

$(STAMP): pyproject.toml | $(BIN)/python
	@echo "Installing tclose and its development tools into $(VENV) (once; takes a minute or two)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(STAMP)
