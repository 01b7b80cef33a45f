# Everything runs from .venv, made from the pinned versions in constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
PACKAGES := collectors detectors slo alerts dashboards paceline

.PHONY: help setup services demo test coverage check lint mypy pyright layers contents bench bench-detectors clean

help: ## Show what can be made.
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

.venv/.ready: pyproject.toml constraints.txt
	@echo "Setting up .venv from the pinned versions ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

setup: .venv/.ready ## Make .venv from pinned versions.

services: ## Install Prometheus, Alertmanager and Chromium for the tests, where apt may.
	@bash .ci/services

demo: setup ## Run the main job on the simulated cluster: page, timeline, report.
	@$(BIN)/paceline demo

# Two workers share two cores: one thread each for Polars, and slow tests go to whoever is free.
TESTS := POLARS_MAX_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal

test: setup services ## Set up and pass all tests.
	@$(TESTS)

# Counting branches takes a quarter more time than the tests: it is asked for by itself.
coverage: setup services ## Pass all tests and hold their coverage to its bars.
	@$(TESTS) --cov --cov-report=
	@$(BIN)/coverage report --fail-under=95
	@$(BIN)/coverage report --fail-under=100 --include='detectors/*,slo/*'

# Each checker keeps one core busy: two run at a time.
check: setup ## Lint, spelling, types, layers, wheel contents.
	@$(MAKE) --no-print-directory --jobs=2 lint pyright mypy layers contents

lint:
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/typos

mypy:
	@$(BIN)/mypy

pyright:
	@$(BIN)/pyright

layers:
	@$(BIN)/lint-imports

contents:
	@$(BIN)/python -m pytest -q -m wheel tests/test_wheel.py

bench-detectors: setup ## Print the yardsticks of the detectors; needs PACELINE_DATA.
	@$(BIN)/python -m benchmarks.detectors

bench: setup ## Print the yardsticks; needs PACELINE_DATA.
	@$(BIN)/python -m benchmarks

clean: ## Remove what was made.
	rm -rf .venv build dist htmlcov .coverage* .mypy_cache .ruff_cache .pytest_cache
