# Every target makes .venv itself; the second time it takes seconds.
.DEFAULT_GOAL := help
.PHONY: help demo test test-slow lint fuzz fuzz-short bench reproduce measure clean

ARGS ?=
.DELETE_ON_ERROR:

PYTHON ?= python3
BIN := .venv/bin
NATIVE := CMakeLists.txt $(wildcard native/*/*)

help: ## show the targets
	@grep -hE '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/'

.venv/installed: pyproject.toml $(NATIVE)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "PlaneZip needs Python >= 3.11; say which with: make PYTHON=python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[train,report,dev]'
	@touch $@

test: .venv/installed ## run the test suite
	$(BIN)/python -m pytest

test-slow: .venv/installed ## run the tests that take minutes
	$(BIN)/python -m pytest -m slow

lint: .venv/installed ## check style, types and layers
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fuzz: ## fuzz each of the engine's 2 targets for 5 minutes under ASan and UBSan (needs clang)
	fuzz/run 300

fuzz-short: ## the same for 30 seconds each
	fuzz/run 30

bench: .venv/installed ## measure codec, rivals, planner and training; writes benchmarks/results
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python -m pytest benchmarks
	$(BIN)/python benchmarks/codec_speed.py
	$(BIN)/python -m benchmarks.codecs
	$(BIN)/python benchmarks/planning_speed.py
	$(BIN)/python benchmarks/reproduce_speed.py
	$(BIN)/python -m benchmarks.training

demo: .venv/installed ## trace, capture, plan and simulate ResNet-50; writes out/demo
	$(BIN)/planezip demo --out out/demo $(ARGS)

reproduce: .venv/installed ## make the paper's tables and figures from the packaged measurements
	$(BIN)/planezip reproduce --out out/reproduce

measure: .venv/installed ## measure anew (an hour or two): make measure IMAGES=folder TEXT=file
	$(BIN)/planezip measure $(if $(IMAGES),--images "$(IMAGES)") $(if $(TEXT),--text "$(TEXT)") --out out/measured

clean: ## remove everything that the other targets made here
	rm -rf .venv build out .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
