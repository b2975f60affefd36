# Needs only Python (3.11 or newer) and make. `make help` lists the targets.
# Each interpreter has a virtual environment of its own: make test PYTHON=python3.13 works in .venv-python3.13.
PYTHON ?= python3
VENV := .venv$(if $(filter-out python3,$(PYTHON)),-$(subst /,-,$(PYTHON)))
RUN := $(VENV)/bin/python -m
DEV := $(VENV)/.installed-dev
# Tests that reach the lines of all kernels, run without the compiler: lines of compiled code cannot be counted, and an
# index that leaves its array is an error there.
INTERPRETED := tests/kernels $(patsubst %,tests/stats/test_%.py, \
	histograms moments products second_moments tables value_counts) \
	$(patsubst %,tests/%.py,rows/test_splits models/test_predictive evaluation/test_score_order)
# Tests that run beside the quick ones, so that each part takes about as long.
REST := $(addprefix tests/,hostile laws rows selection)
# Files that have slow tests: to look through the others takes as long as some of these.
SLOW := $(shell grep -rlE "mark\.(slow|cluster|process)" --include="test_*.py" tests)
BENCH := $(VENV)/.installed-bench
SECONDS ?= 20
BASE ?= main
BENCHMARKS ?= .
PYTHONS ?= python3.11 python3.12 python3.13

.PHONY: help venv demo test sklearn test-quick test-interpreted test-slow test-rest test-checked test-benchmarks lint prose docs release-check house bench bench-compare fuzz peers findings clean

help:
	@echo "make demo    one scan of a million lines of source to a classifier with its regularisation path"
	@echo "make test    the tests; those of the kernels once more interpreted, where each index is checked"
	@echo "make test-checked  those of the kernels compiled with bounds checking, after changes of kernels"
	@echo "make test-benchmarks  that benchmarks run, on few rows, after changes of theirs"
	@echo "make sklearn scikit-learn's own tests of naive Bayes, run against the drop-ins"
	@echo "make lint    ruff and mypy"
	@echo "make prose   spelling, and sentences of more than 30 words in the pages"
	@echo "make docs    the site of all pages and of the reference, into build/site"
	@echo "make release-check  wheel and sdist, installed in clean environments of PYTHONS='python3.11 python3.12 ..'"
	@echo "make house   how large the package is, and how long the way of five calls is through it"
	@echo "make bench   the benchmarks, quickly"
	@echo "make bench-compare BASE=main  the benchmarks of two commits, in a table of what has changed; BENCHMARKS=Solve for a part"
	@echo "make fuzz    input made to break things, led by the lines it reaches; SECONDS=20 for each of four harnesses"
	@echo "make peers   streamnb beside other tools, into benchmarks/RESULTS.md; quickly with PEERS=--quick"
	@echo "make findings  whether other libraries still surprise as findings/ says; needs the network"
	@echo "make clean   remove virtual environments, caches and build output"
	@echo "PYTHON=python3.13 picks another interpreter"

venv: $(DEV)

demo: $(DEV)
	$(VENV)/bin/python examples/source_lines.py

# Several parts at a time: nothing in them goes by the clock, and the shorter ones are a little nice to the longest. The
# first compiles the kernels while the second needs none; the others, which wait for processes now and then, find them on
# the disk. Lines that only the slow ones reach are not counted. BESIDE=lint looks at the code while kernels compile.
test: $(DEV)
	@rm -f .coverage-*.json
	$(MAKE) --no-print-directory --keep-going --jobs=3 test-quick $(BESIDE) test-interpreted test-slow test-rest
	$(RUN) slipcover --merge .coverage-*.json --out .coverage.json --skip-covered --fail-under 95

# Lines are counted from before pytest begins, because it imports streamnb to read its warning filters. To stop counting
# lines that were met looks through all functions, for a tenth of a second: by default after each 50 calls in vain.
COUNTING = $(RUN) slipcover --source streamnb --threshold 1000 --json --out .coverage-$@.json
QUICK := -m "not slow and not cluster and not process"
FEW_ROWS := -m "not slow and not cluster and not process and not compiled"
# Each part says what it is from its first second on, and every line of it which part it is of.
SHELL := /bin/bash
WHOLE = 2>&1 | sed --unbuffered "s/^/$@ | /"; exit $${PIPESTATUS[0]}

# Parts share the cores: threads of BLAS would only wait for each other, in loops that take ten times as long.
test-%: export OMP_NUM_THREADS = 1

# The compiler reads the code of kernels, where nothing may be counted.
test-quick: $(DEV)
	@echo "$@ begins"; $(COUNTING) --omit "streamnb/kernels/*" -m pytest $(QUICK) $(addprefix --ignore=,$(REST)) $(WHOLE)

test-interpreted: $(DEV)
	@echo "$@ begins"; NUMBA_DISABLE_JIT=1 $(COUNTING) -m pytest $(FEW_ROWS) $(INTERPRETED) $(WHOLE)

test-slow test-rest: | test-interpreted
test-interpreted: | $(BESIDE)

# Servers, workers and kill signals go by the clock: what fails among them is run once more, and named where it passes then.
test-slow: $(DEV)
	@echo "$@ begins"; nice -n 3 $(RUN) pytest --reruns 1 -raR -m "(slow or cluster or process) and not benchmark" $(SLOW) $(WHOLE)

test-rest: $(DEV)
	@echo "$@ begins"; nice -n 3 $(COUNTING) --omit "streamnb/kernels/*" -m pytest $(QUICK) $(REST) $(WHOLE)

test-benchmarks: $(DEV)
	@echo "$@ begins"; $(RUN) pytest -m benchmark tests/whole tests/searching $(WHOLE)

test-checked: $(DEV)
	@echo "$@ begins"; NUMBA_BOUNDSCHECK=1 $(RUN) pytest tests/kernels $(WHOLE)

sklearn: $(DEV)
	$(RUN) tests.support.sklearn_suite

# What mypy found in libraries and files is kept for all clones on a machine, by content: a new one takes a second.
lint: export MYPY_CACHE_DIR ?= $(HOME)/.cache/streamnb-mypy
lint: $(DEV)
	$(RUN) ruff check --quiet
	$(RUN) ruff format --check --quiet
	$(RUN) mypy --no-error-summary

prose: $(DEV)
	$(RUN) codespell_lib README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs/*.md streamnb examples
	$(RUN) tests.support.prose

# Into a folder of its own: the pages of the reference are made anew, so that none stays of a name that is gone.
docs: $(VENV)/.installed-docs
	rm -rf docs/api
	$(RUN) sphinx --fail-on-warning --keep-going --quiet -d build/doctrees docs build/site
	@echo "the site is in build/site/index.html"

release-check: $(VENV)/.installed-release
	$(RUN) tests.support.release_check $(PYTHONS)

house: $(DEV)
	$(RUN) tests.support.house

bench: $(BENCH)
	$(RUN) asv machine --yes --config benchmarks/asv.conf.json > /dev/null
	$(RUN) asv run --config benchmarks/asv.conf.json --python=same --quick --show-stderr

bench-compare: $(BENCH)
	$(RUN) benchmarks.commits compare $(BASE) --bench "$(BENCHMARKS)"

fuzz: $(VENV)/.installed-fuzz
	$(RUN) fuzz --seconds $(SECONDS)

# The other tools are not needed: a row without its peer says so.
peers: $(BENCH)
	-for tool in flox dask-ml river vowpalwabbit pyspark; do $(RUN) pip install --quiet $$tool; done
	$(RUN) benchmarks.peers $(PEERS)

# Each makes an environment of its own in a temporary folder.
findings:
	@changed=; for finding in findings/*.sh; do \
		echo "== $$finding"; bash "$$finding" || changed="$$changed $$finding"; \
	done; [ -z "$$changed" ] || { echo "no longer so, or not to be installed:$$changed"; exit 1; }

clean:
	rm -rf .venv .venv-* .asv .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist docs/api *.egg-info
	find streamnb tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} +

# The package, editable, with the extras of that name; done again only when pyproject.toml changes. Modules are compiled
# when they are first imported, which most never are, and kept so: else each process that a test starts would compile
# the thousands that it imports.
unexport PYTHONDONTWRITEBYTECODE

$(VENV)/.installed-%: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "streamnb needs Python 3.11 or newer: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --no-compile --editable ".[$*]"
	@touch $@
