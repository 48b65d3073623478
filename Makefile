# A thin front: each goal installs what it needs on this machine, then calls a script or a CMake preset.
PREFIX ?= /usr/local
DESTDIR ?=

.DEFAULT_GOAL := help
.PHONY: help demo build install wheel test lint format bench soak clean

help:            ## this list
	@awk -F ' *## *' '/^[a-z]+:.*##/ {sub(/:.*/, "", $$1); printf "  make %-10s %s\n", $$1, $$2}' Makefile

demo:            ## build, start Slipway, train a small model, show what came of it
	@scripts/install-dependencies build
	@scripts/demo

build:           ## the release program at build/release/slipway
	@scripts/install-dependencies build
	@scripts/build release slipway

install: build   ## into PREFIX (default /usr/local)
	cmake --install build/release --prefix "$(DESTDIR)$(PREFIX)"

wheel: build     ## dist/*.whl: slipway with the program in it, and slipway-azureml
	@python3 python/build_wheels.py --out dist --binary build/release/slipway

test:            ## every test; what .ci/run calls
	@scripts/install-dependencies build test
	@scripts/test $(PYTEST_ARGS)

lint:            ## layout, include order, clang-tidy, shellcheck, ruff, yamllint
	@scripts/install-dependencies build lint
	@cmake --preset dev --log-level=WARNING >/dev/null
	@scripts/lint

format:          ## lay out C++ and Python
	@scripts/install-dependencies build lint
	@scripts/format

bench:           ## each figure beside its bar and its peer
	@scripts/install-dependencies build test bench
	@scripts/build release slipway slipway_load
	@bench/run

soak:            ## fuzzers and kill loops for MINUTES (default 10)
	@scripts/install-dependencies build test
	@scripts/soak

clean:           ## remove build folders, test tools and the demo's home
	rm -rf build dist .venv .slipway .pytest_cache .ruff_cache .hypothesis
