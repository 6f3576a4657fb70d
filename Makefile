# `make` prints this help. Every target that needs it sets up .venv by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
OUT ?= out/bench-$(shell date +%Y%m%d-%H%M%S)
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help

.PHONY: help
help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,rpc,tvm-search]'
	touch $@

.PHONY: setup
setup: $(STAMP)  ## the environment in .venv

.PHONY: bench
bench: $(STAMP)  ## set up and run the default benchmark (three chips, table and report in out/)
	$(BIN)/prunelab bench --out $(OUT)

.PHONY: test
test: $(STAMP)  ## set up and run the tests that CI runs
	$(BIN)/pytest -n auto --dist loadfile -m 'not slow'

.PHONY: test-slow
test-slow: $(STAMP)  ## the tests that take longer
	$(BIN)/pytest -m slow

.PHONY: perf
perf: $(STAMP)  ## the performance benchmarks (pytest-benchmark)
	$(BIN)/pytest --benchmark-only --benchmark-enable -k bench

.PHONY: native
native: $(STAMP)  ## build the C++ engine into the user's cache (needs c++ and ninja)
	$(BIN)/python -c "from tuner.native.library import built; print(built())"

.PHONY: lint
lint: $(STAMP)  ## ruff, strict types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: format
format: $(STAMP)  ## let ruff format and fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

SHIPPED := ascend-conv-small mlu-bmm mlu-conv gpu-softmax gpu-layernorm
.PHONY: oracles
oracles: $(STAMP)  ## measure the oracles that ship anew
	rm -f tuner/oracle/data/*.parquet
	$(BIN)/prunelab oracle $(SHIPPED:%=--space %) --out tuner/oracle/data

.PHONY: prior
prior: $(STAMP)  ## train the graph network that ships anew (needs the extra meta)
	$(BIN)/prunelab meta pretrain --out pruner/meta/data/prior.npz

.PHONY: golden
golden: $(STAMP)  ## write the golden files anew (then read the difference)
	$(BIN)/pytest --update-golden -k golden
