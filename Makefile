# Everything starts from a fresh clone: Rust, Python 3.11 or newer and a C toolchain are all that is needed.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
BENCH := ../shared/bench/run.py
RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name '*.cuh' -o -name Cargo.toml -o -name hot_functions.txt)

.PHONY: help build demo test lint bench wheel order clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(STAMPS)/built ## set up .venv and build the package into it (only what changed)

demo: build ## the seeds' two programs and a stencil under NumPy and under Numloom, timed and compared
	@$(BIN)/python examples/demo.py

test: build lint $(STAMPS)/nvrtc $(STAMPS)/playwright $(STAMPS)/neighbours $(STAMPS)/pyarrow ## lint, Rust tests and Python tests
	@command -v chromium chromium-browser google-chrome >/dev/null || echo "no Chromium on this machine: the profiler's viewer will not be tested"
	@if cargo nextest --version >/dev/null 2>&1; then cargo nextest run --release --workspace; \
	  else cargo test --release --workspace; fi
	$(BIN)/python -m pytest -q tests

lint: build ## formatting, clippy, ruff and mypy
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	$(BIN)/ruff check python tests examples
	$(BIN)/ruff format --check python tests examples
	$(BIN)/mypy

bench: build $(STAMPS)/peers ## the benchmark programs against NumPy and the peers that could be installed
	$(BIN)/python $(BENCH) --module numpy --module numloom $$(cat $(STAMPS)/peers) --threads 2

wheel: $(STAMPS)/tools ## build a wheel into dist/
	$(BIN)/maturin build --release --out dist

order: build ## record which functions ordinary programs run, so that they lie together in the library
	$(BIN)/python tools/hot_functions/record.py

clean: ## remove the virtual environment and what was built
	rm -rf $(VENV) dist target

$(STAMPS)/venv:
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/tools: $(STAMPS)/venv pyproject.toml
	$(BIN)/pip install --quiet numpy maturin 'setuptools>=70.1' pytest hypothesis ruff mypy
	@touch $@

$(STAMPS)/built: $(STAMPS)/tools $(RUST) python/compat/pyproject.toml
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --quiet
	$(BIN)/pip install --quiet --no-build-isolation --no-deps --no-index -e python/compat
	@touch $@

# CUDA's compiler alone, no GPU needed: with it the tests compile every kernel they print.
$(STAMPS)/nvrtc: $(STAMPS)/tools
	@$(BIN)/pip install --quiet nvidia-cuda-nvrtc || echo "nvidia-cuda-nvrtc could not be installed; kernels for GPUs will not be compiled"
	@touch $@

# Drives the machine's own Chromium in the tests of the viewer; it brings no browser of its own.
$(STAMPS)/playwright: $(STAMPS)/tools
	@$(BIN)/pip install --quiet playwright || echo "playwright could not be installed; the profiler's viewer will not be tested"
	@touch $@

# Libraries that take our arrays in tests/test_neighbours.py, which skips those that are not there.
$(STAMPS)/neighbours: $(STAMPS)/tools tests/neighbours.txt
	@for each in $$(cat tests/neighbours.txt); do \
	  $(BIN)/pip install --quiet $$each "numpy==$$($(BIN)/python -c "import numpy; print(numpy.__version__)")" || echo "$$each could not be installed; it will not be tested with our arrays"; done
	@touch $@

# Reads the tables that profiles are exported to.
$(STAMPS)/pyarrow: $(STAMPS)/tools
	@$(BIN)/pip install --quiet pyarrow || echo "pyarrow could not be installed; exports to Parquet will not be read back"
	@touch $@

$(STAMPS)/peers: $(STAMPS)/tools
	@: > $@; for peer in jax numba; do \
	  if $(BIN)/pip install --quiet $$peer; then echo "--peer $$peer" >> $@; \
	  else echo "peer $$peer could not be installed; going on without it"; fi; done
