# make demo   load two simulated weeks, write the weekly report, serve it
# make test   everything that must hold: format, lint, types, contracts, tests
PYTHON ?= python3
BIN := .venv/bin
DEMO_ARGS ?=
PYTEST_ARGS ?= -n 2

.PHONY: setup demo test format lint types contracts tests browser bench clean

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "tailwise needs Python 3.11 or newer; set PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv 2>/dev/null || $(PYTHON) -m venv --without-pip --clear .venv
	@$(BIN)/python -m pip --version >/dev/null 2>&1 && $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' \
	  || $(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch .venv/ready

demo: setup
	$(BIN)/tailwise demo $(DEMO_ARGS)

test: format lint types contracts tests

format: setup
	$(BIN)/ruff format --check .

lint: setup
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

contracts: setup
	$(BIN)/lint-imports

tests: setup
	$(BIN)/python -m pytest $(PYTEST_ARGS)

bench: setup
	$(BIN)/python -m pytest tests/benchmarks -m benchmark -s

clean:
	rm -rf .venv demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
