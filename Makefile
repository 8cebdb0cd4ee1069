# One target per chore; each sets up all that it needs under build/. PYTHON chooses the interpreter;
# LOCK=requirements-dev.txt, as in CI, installs the releases that are listed there and no others.

PYTHON ?= python3
VENV := build/venv
PY := $(VENV)/bin/python
# Tests that compile take both cores for themselves, so they run after the fast ones, one at a time.
PYTEST := $(PY) -m pytest -q
WITH_CMAKE = command -v ctest >/dev/null || $(PY) -m pip install --quiet cmake; \
  PATH="$(abspath $(VENV))/bin:$$PATH"
# What archives say of their files' age: each build of a commit gives the same bytes.
COMMIT_TIME = SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct)

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-slow test-api-versions test-jaxlibs test-update test-registry \
  test-registry-nightly test-sanitizers test-wheels test-platforms test-frameworks test-libraries lint format example \
  docs benchmark check-release dist check-dist lock clean env

help: ## Show the targets
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | expand -t 20

demo: ## Render the default plugin, build its wheel and run JAX on it
	@sh tools/environment.sh "$(PYTHON)" build/demo-venv .
	@build/demo-venv/bin/python -m demo.run

test: lint test-fast test-slow ## All of this project's tests

test-fast: env ## The tests that build no plugin: two minutes
	$(PYTEST) -m "not slow and not long" -n auto --dist loadgroup

test-slow: env ## The tests that build plugins and run them on JAX
	$(WITH_CMAKE) $(PYTEST) -m "slow and not long"

test-api-versions: env ## Compile headers and the C API layer at every API version
	$(WITH_CMAKE) $(PYTEST) -m long -n 2 tests/registry/test_api_versions.py tests/registry/test_headers.py

test-registry: env ## The registry against the headers in stable public wheels: a gigabyte to download
	$(PYTEST) -m "long and not nightly" tests/registry/test_wheels.py

test-registry-nightly: env ## The same with nightly wheels, as long as they are to be had
	$(PYTEST) -m nightly -rs tests/registry/test_wheels.py

test-jaxlibs: env ## Run one plugin under every jaxlib since 0.4.38
	$(PY) -m tools.jaxlibs

test-update: env ## Build and test repositories that were updated, under two jaxlibs
	$(PYTEST) -m long tests/update

test-sanitizers: env ## Run the generated tests under the sanitizers; each of the three parts says when it is done
	$(WITH_CMAKE) $(PYTEST) -v --durations=0 -m long tests/generated/test_sanitizers.py

test-wheels: env ## Build, test and inspect wheels by cibuildwheel in podman (root; apt install podman runc)
	$(WITH_CMAKE) $(PYTEST) -v --durations=0 -m long tests/wheels

test-frameworks: env ## The plugin beside TensorFlow, torch and torch_xla: 5 GB to download, kept in build/frameworks
	$(PYTEST) -v --durations=10 -m long tests/frameworks

test-libraries: env ## Programs of flax, optax, diffrax, numpyro and others, beside JAX's own CPU (Python 3.12)
	$(PYTEST) -v --durations=0 -m long tests/libraries

test-platforms: env ## Cross-compile for aarch64 Linux, macOS and Windows (apt install packages: CONTRIBUTING.md)
	@$(PY) -m pip install --quiet --disable-pip-version-check ziglang==0.17.1
	$(WITH_CMAKE) $(PYTEST) -v --durations=0 -m long tests/platforms

lint: env ## Formatting, ruff, mypy and clang-format
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m tools.clang_format --check

format: env ## Put everything into the house format
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	$(PY) -m tools.clang_format

example: env ## Render examples/generated_cpu_plugin anew
	$(PY) -m tools.example

docs: env ## Write the generated parts of docs/ anew
	$(PY) -m tools.answers_table
	$(PY) -m tools.jaxlibs_table
	$(PY) -m tools.check_rules

benchmark: env ## Measure the default plugin beside XLA's CPU plugin
	$(PY) -m benchmarks.run

check-release: env ## Tag, version and CHANGELOG.md agree; without TAG=v1.2.3 the last two
	@$(PY) -m tools.check_release $(TAG)

dist: env ## Build the sdist and the wheel of this project into build/dist
	rm -rf build/dist
	$(COMMIT_TIME) $(PY) -m build --no-isolation --outdir build/dist .
	$(PY) -m twine check --strict build/dist/*

check-dist: env ## Test what lies in build/dist, in an environment without anything else too
	$(COMMIT_TIME) PJRT_SCAFFOLD_DIST=build/dist $(PYTEST) tests/release tests/cli/test_installed.py

lock: ## Bring requirements-dev.txt in line with pyproject.toml; UPGRADE=1 takes the newest releases
	@sh tools/environment.sh "$(PYTHON)" $(VENV) ".[dev]"
	@$(PY) -m pip install --quiet --disable-pip-version-check uv==0.13.9
	$(PY) -m uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
	  --custom-compile-command "make lock" --quiet $(if $(UPGRADE),--upgrade) --output-file requirements-dev.txt

clean: ## Remove build/
	rm -rf build

env:
	@sh tools/environment.sh "$(PYTHON)" $(VENV) ".[dev]" $(LOCK)
