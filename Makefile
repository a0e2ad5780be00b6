# `make` lists the targets. Everything is set up inside this checkout: .venv, .tools, frontend/node_modules, server/static.
# PYTHON=… chooses the interpreter; LOCKED=1 installs the versions of .ci/locks; DEMO_ARGS=…, PYTEST_ARGS=… and BENCH=… go to these programs.

PYTHON ?= $(shell .ci/python)
PY := .venv/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --no-input
BENCH ?= *
# One process more than cores, because tests wait for browsers and servers; at most four, because each loads TensorFlow.
CORES := $(shell nproc 2>/dev/null || echo 1)
PYTEST_ARGS ?= -n $(shell echo $$(($(CORES) < 4 ? $(CORES) + 1 : 4))) --dist loadfile

# Installs are repeated when their inputs or the path of the checkout change. Contents decide, because checkouts change timestamps.
KEY := $(shell { pwd; git ls-files -- '*/__init__.py' 2>/dev/null || ls */__init__.py; cat pyproject.toml setup.py; } | cksum | tr ' ' '-')
FOR_DEMO := .venv/.for-demo-$(KEY)
FOR_TESTS := .venv/.for-tests-$(KEY)

.NOTPARALLEL:
.PHONY: help demo check test nightly test-quick test-python test-frontend lint types frontend chromium bench fuzz wheel build sbom lock audit docs docker clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

demo: $(FOR_DEMO) frontend ## set up what is missing, train the demo and open its page
	@$(PY) -m tensortap demo $(DEMO_ARGS)

check: lint types test-quick ## the inner loop: lint, types, and the tests that need neither TensorFlow nor a browser

test: lint types test-frontend test-python ## set up what is missing and run all tests

nightly: PYTEST_ARGS += --nightly
nightly: test fuzz ## `test` with more programs, then `fuzz`

lint: $(FOR_TESTS) ## ruff, import rules (import-linter) and biome
	$(PY) -m ruff check .
	$(PY) .ci/check_imports.py
	$(PY) frontend/bundle.py run lint

types: $(FOR_TESTS) ## mypy --strict and tsc
	$(PY) .ci/check_types.py
	$(PY) frontend/bundle.py run types

test-quick: $(FOR_TESTS) frontend
	$(PY) -m pytest --quick -q -r fE $(PYTEST_ARGS)

test-frontend: $(FOR_TESTS) ## vitest
	$(PY) frontend/bundle.py run test

test-python: $(FOR_TESTS) frontend chromium ## pytest, with real TensorFlow and a real Chromium
	$(PY) -m pytest $(PYTEST_ARGS)

frontend: .venv/.made ## build the page into server/static, if its sources have changed
	@$(PY) frontend/bundle.py

bench: $(FOR_TESTS) frontend .tools/peers ## run the benchmarks one by one (BENCH=name runs one, BENCH_ARGS=… go to it)
	@for file in benchmarks/$(BENCH).py; do \
		case $$file in */_*) continue ;; esac; \
		echo "== $$file"; $(PY) "$$file" $(BENCH_ARGS) || exit 1; \
	done

# Other viewers, which benchmarks/graph.py --peers measures beside the page; nothing else needs them.
.tools/peers: | .venv/.made
	@$(PIP) install --quiet --target $@.new "netron==9.3.3" "ai-edge-model-explorer==0.1.34"
	@mv $@.new $@

fuzz: $(FOR_TESTS) ## new examples for property tests, then fuzzing of readers and importers (FUZZ_SECONDS=600)
	$(PY) -m pytest -m hypothesis --hypothesis-profile=explore $(PYTEST_ARGS)
	$(PY) tests/fuzz

wheel: build

# The same bytes from the same commit: SOURCE_DATE_EPOCH is the commit's time unless it is given. LOCKED builds with
# what is installed, which is locked; otherwise the newest setuptools is taken for it.
build: $(FOR_TESTS) ## sdist and wheel, with the built page, into dist/
	SOURCE_DATE_EPOCH="$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 1767225600)}" \
		$(PY) -m build $(if $(LOCKED),--no-isolation) --outdir dist .

sbom: $(FOR_TESTS) ## dist/sbom.cdx.json: what an installation and the page consist of (CycloneDX)
	@mkdir -p dist
	$(PY) .ci/sbom.py dist/sbom.cdx.json

lock: .venv/.made ## .ci/locks: the versions and hashes of all Python packages (UPGRADE=1 takes newer ones)
	UPGRADE="$(UPGRADE)" .ci/lock

audit: $(FOR_TESTS) ## known vulnerabilities of what is installed (needs a network, and says so)
	$(PY) .ci/audit.py

docs: $(FOR_TESTS) frontend ## the documentation as a site, into site/, with the runs of its gallery
	$(PY) .ci/gallery.py .tools/gallery
	$(PY) -m mkdocs build --strict

docker: ## the image that serves a log directory (needs a Docker engine)
	docker build --file docker/Dockerfile --tag tensortap .

clean: ## remove everything that make made, the virtual environment included
	rm -rf .venv .tools .fuzz build dist site *.egg-info server/static server/.static-* frontend/node_modules demo-logs test-output
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

chromium:
	@TENSORTAP_CHROMIUM="$(TENSORTAP_CHROMIUM)" .ci/chromium

.venv/.made:
	@.ci/venv "$(PYTHON)"
	@touch $@

$(FOR_DEMO): | .venv/.made
	@echo "Installing tensortap and what the demo needs (TensorFlow is large: minutes the first time)"
	@$(PIP) install --editable ".[demo,tensorboard]"
	@touch $@

$(FOR_TESTS): | .venv/.made
	@echo "Installing tensortap and what its tests need (TensorFlow is large: minutes the first time)"
	@$(PIP) install $(if $(LOCKED),--require-hashes --requirement .ci/locks/test.txt,--editable ".[test]")
	@$(if $(LOCKED),$(PIP) install --no-deps --no-build-isolation --editable .)
	@touch $@ $(FOR_DEMO)
