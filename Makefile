# `make demo` and `make test` are all a newcomer needs: each makes .venv first and installs the pinned versions once.
PYTHON ?= python3
BIN := .venv/bin
# In two processes; those that want quiet can call pytest themselves.
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: help demo quick test test-all test-lowest test-pythons lint docs harden coverage mutation audit benchmark peers missing clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.venv/core: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "manyview needs Python 3.11 or later, got " + sys.version.split()[0] + "; name another one with: make PYTHON=python3.12 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) install --quiet --constraint constraints.txt --editable .
	@touch $@

.venv/dev: .venv/core
	$(PIP) install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: .venv/core ## cluster scikit-learn's digits, described in five ways; ends with the path of a report
	$(BIN)/manyview demo --out output/demo

quick: .venv/core ## all methods in file order and shuffled, in a few minutes; ends with the path of a report
	mkdir -p output
	$(BIN)/manyview experiments run quick --store output/quick.sqlite
	$(BIN)/manyview experiments report quick --store output/quick.sqlite --out output/quick.html

test: .venv/dev ## run the test suite
	$(PYTEST) -m 'not slow'

test-all: .venv/dev ## run the test suite with the slow tests
	$(PYTEST)

# The lowest versions that pyproject.toml allows, of the build backend too.
.venv-lowest/ready: pyproject.toml .ci/lowest.py
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) .ci/lowest.py > .venv-lowest/constraints.txt
	PIP_CONSTRAINT=.venv-lowest/constraints.txt PIP_BUILD_CONSTRAINT=.venv-lowest/constraints.txt \
	.venv-lowest/bin/python -m pip --disable-pip-version-check install --quiet --editable '.[dev,omics]'
	@touch $@

test-lowest: .venv-lowest/ready ## run the test suite with the lowest versions that pyproject.toml allows
	.venv-lowest/bin/python -m pytest -n 2 --dist worksteal -m 'not slow' $(TESTS)

test-pythons: ## run the test suite with Python 3.11, 3.12 and 3.13, as far as they are at hand
	.ci/pythons $(TESTS)

lint: .venv/dev ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/dev ## build the site; every warning is an error; ends with the path of the first page
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet docs output/docs
	@echo output/docs/index.html

harden: .venv/dev ## try to break it: estimators, readers, memory, signals, packaging; takes hours
	MANYVIEW_EXAMPLES=200 $(PYTEST) tests/hardening
	$(BIN)/python tests/hardening/soak.py --fits 1000
	$(BIN)/python tests/hardening/fuzz_readers.py --inputs 100000

# Tools that look at the project, with the environment of the tests below them.
.venv-tools/ready: .venv/dev
	$(PYTHON) -m venv .venv-tools
	.venv-tools/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt --editable '.[dev]' cosmic-ray==8.7.0 pip-audit
	@touch $@

mutation: .venv-tools/ready ## change the code and see whether a test fails; some ten minutes
	.venv-tools/bin/python tests/mutation/run.py

# Kernels are seen only where they are not compiled, which is slow; the hashes in graphs/content.py wrap on purpose.
KERNELS := tests/proximal tests/tensor tests/graphs tests/solvers/test_kernels.py $(addprefix tests/ensemble/test_,edges.py graph.py kmeans.py members.py)
coverage: .venv/dev ## lines of solvers, ensemble, proximal, tensor, graphs and io that tests reach; all of them, or it fails
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -q -m 'not slow' tests/proximal tests/tensor tests/io tests/graphs tests/solvers tests/ensemble
	NUMBA_DISABLE_JIT=1 CI=1 $(BIN)/python -m coverage run -m pytest -q -m 'not slow' -W 'ignore:overflow encountered in scalar:RuntimeWarning' $(KERNELS)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report --skip-covered --show-missing --fail-under=100

audit: .venv-tools/ready ## known vulnerabilities of the pinned versions; fails where a version cannot be looked up
	.venv-tools/bin/python -m pip_audit --strict --requirement constraints.txt --no-deps --disable-pip

benchmark: .venv/dev ## time and memory of all methods
	$(BIN)/python benchmarks/graph_ensemble.py
	$(BIN)/python benchmarks/published.py
	$(BIN)/python benchmarks/methods.py

# One environment for each package that ours is compared with. mvlearn asks for a matplotlib that no longer builds, and
# needs none of it to cluster; snfpy needs an option that scikit-learn 1.8 has dropped. Some methods of imml run in GNU
# Octave, which has to be installed; without it `make missing` leaves these out as failed.
PEERS := polyview imml mvlearn snfpy scikit-learn evoc
PINS_polyview := polyview==0.1.0 scikit-learn==1.9.1
PINS_imml := imml[octave]==0.6.0 scikit-learn==1.9.1 --editable .
PINS_mvlearn := scikit-learn==1.9.1 matplotlib==3.11.2 seaborn==0.13.2
PINS_snfpy := snfpy==0.2.2 scikit-learn==1.7.2
PINS_scikit-learn := scikit-learn==1.9.1
PINS_evoc := evoc==0.3.2 scikit-learn==1.9.1 numba==0.68.1

.venv-peers-%/ready: Makefile
	$(PYTHON) -m venv .venv-peers-$*
	.venv-peers-$*/bin/python -m pip --disable-pip-version-check install --quiet numpy==2.4.6 scipy==1.17.1 $(PINS_$*)
	test $* != mvlearn || .venv-peers-mvlearn/bin/python -m pip --disable-pip-version-check install --quiet --no-deps mvlearn==0.5.0
	@touch $@

# A package that cannot be installed is left out, and the page says so.
peers: .venv/dev ## other packages beside ours: scores, time and memory, into docs/peers.md; an hour
	-$(MAKE) --keep-going $(PEERS:%=.venv-peers-%/ready)
	$(BIN)/python benchmarks/peers.py --page docs/peers.md

missing: .venv-peers-imml/ready ## samples that lack views: scores beside those of imml
	.venv-peers-imml/bin/python benchmarks/missing.py --peers --results output/missing.jsonl

clean: ## remove .venv, caches and output
	rm -rf .coverage docs/api docs/gallery docs/sg_execution_times.rst .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis output build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
