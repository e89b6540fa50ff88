# Python 3.11 and make are all that has to be there: what a target needs, it installs into .venv*.
# A second call installs nothing, until pyproject.toml or the constraints change.

ifndef PYTHON
PYTHON := $(shell python3.11 -c 'print("python3.11")' 2>/dev/null || echo python3)
endif

# Where an environment has its programs. On Windows make needs the sh of Git, and PYTHON=python.
ifeq ($(OS),Windows_NT)
bin := Scripts
exe := .exe
else
bin := bin
exe :=
endif

.DEFAULT_GOAL := help
# Several targets share an environment.
.NOTPARALLEL:
.PHONY: help audit doc tables readme tutorials venv test quick test-slow fuzz faults coverage lint format test-oldest test-newest test-install clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

audit: .venv/audit.stamp ## audit an example model, report in build/audit
	.venv/$(bin)/skmia audit --out build/audit

# Pages are made anew, so that none is left whose source is gone; examples that have not changed are not run again.
doc: .venv/doc.stamp ## the documentation site, in build/doc/html
	rm -rf build/doc
	$(one_thread) .venv/$(bin)/sphinx-build -W --keep-going -q -d build/doc/doctrees doc build/doc/html
	.venv/$(bin)/python doc/check_links.py build/doc/html
	.venv/$(bin)/python doc/check_site.py build/doc/html

tables: venv ## what attacks and signals declare and what estimators store, in the tables of the guide
	.venv/$(bin)/python doc/make_tables.py
	$(one_thread) .venv/$(bin)/python doc/make_state_tables.py

readme: venv ## the numbers and the picture of README.md, from its own code
	$(one_thread) .venv/$(bin)/python doc/make_readme.py

tutorials: venv ## the outputs and the pictures of the tutorials, from their own code
	$(one_thread) .venv/$(bin)/python doc/make_tutorials.py

venv: .venv/test.stamp ## the development environment, .venv

# With bytecode: each worker, and each program that a test starts, would compile every module anew.
test: venv ## the test suite and the examples in docstrings; TESTFLAGS="-k lira" selects
	PYTHONDONTWRITEBYTECODE= $(one_thread) .venv/$(bin)/python -m pytest $(workers) -m "not slow" $(TESTFLAGS)

# From the nearest tests on, for QUICK seconds, and without starting further processes.
quick: venv ## tests of what has changed, the nearest first, for 20 seconds
	PYTHONDONTWRITEBYTECODE= $(one_thread) .venv/$(bin)/python tests/helpers/nearest.py $(QUICK) $(TESTFLAGS)

test-slow: venv ## simulations, and further cases of what quicker tests show
	$(one_thread) .venv/$(bin)/python -m pytest $(workers) $(patient) -m slow tests $(TESTFLAGS)

# In one process, which prints what the calls at each door ended in.
fuzz: venv ## odd values at every public door, others each time; FUZZ=2000 is their number
	FUZZ=$(FUZZ) $(one_thread) .venv/$(bin)/python -m pytest $(patient) tests/fuzzing $(TESTFLAGS)

# In a copy of the tree; by another seed each day.
faults: venv ## faults that are planted in functions, and the share that the tests notice; FAULTS=12 is their number
	$(one_thread) .venv/$(bin)/python benchmarks/planted_faults.py --faults $(FAULTS)

coverage: venv ## the same with a table of the lines that no test ran
	$(one_thread) .venv/$(bin)/python -m pytest $(workers) --cov $(TESTFLAGS)

lint: .venv/lint.stamp ## what ruff, codespell and mypy find
	.venv/$(bin)/ruff check .
	.venv/$(bin)/ruff format --check .
	.venv/$(bin)/python doc/format_code.py --check
	.venv/$(bin)/codespell
	.venv/$(bin)/mypy

format: .venv/lint.stamp ## let ruff mend what it can
	.venv/$(bin)/ruff check --fix .
	.venv/$(bin)/ruff format .
	.venv/$(bin)/python doc/format_code.py

# On processors that are newer than the OpenBLAS of the oldest scipy, its own choice of kernels crashes.
test-oldest: .venv-oldest/test.stamp ## the contract tests on the oldest supported dependencies
	OPENBLAS_CORETYPE=$${OPENBLAS_CORETYPE:-Haswell} $(one_thread) .venv-oldest/$(bin)/python -m pytest $(workers) -m contract tests

# Nothing is pinned: what is newest on the day that the environment is made.
test-newest: ## the contract tests on Python 3.13 and the newest dependencies, where a 3.13 is
	@[ -n "$(PYTHON_NEWEST)" ] || echo "make test-newest is skipped: there is no Python 3.13 here"
	@[ -z "$(PYTHON_NEWEST)" ] || $(MAKE) --no-print-directory PYTHON="$(PYTHON_NEWEST)" .venv-newest/test.stamp
	@[ -z "$(PYTHON_NEWEST)" ] || $(one_thread) .venv-newest/$(bin)/python -m pytest $(workers) -m contract tests

# Not editable: what is tested is what a wheel holds. build/lib would put deleted modules into it.
test-install: .venv-install/test.stamp ## the package as it is installed, without any extra
	rm -rf build/lib
	.venv-install/$(bin)/python -m pip install --quiet --no-deps --force-reinstall .
	.venv-install/$(bin)/pytest tests/install

clean: ## remove environments, caches and build products
	rm -rf .venv .venv-oldest .venv-newest .venv-install build dist *.egg-info \
		doc/api doc/auto_examples doc/benchmarks \
		.mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage htmlcov
	find . -name __pycache__ -prune -exec rm -rf {} +

# In a variable, as a comma parts the arguments of a call.
audit_extras = plot,report
doc_extras = doc,dp,plot,report,torch,xgboost
tested_extras = arrow,browser,catboost,completion,dask,dp,lightgbm,onnx,oracle,plot,polars,ray,report,skops,smote,test,torch,xgboost
FUZZ = 2000
FAULTS = 12
QUICK = 20
# A shim of pyenv is there for each Python that it has, and most of them do not run.
PYTHON_NEWEST = $(shell for python in python3.13 $(PYTHON) $(wildcard $(HOME)/.pyenv/versions/3.13.*/bin/python); do \
	$$python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null && echo $$python && break; done)
newest_extras = test,plot,report,xgboost
# A process of one thread on each processor; threads in them would wait for each other.
workers = --numprocesses auto --dist worksteal
one_thread = OMP_NUM_THREADS=1
# Seconds after which a single test counts as hanging.
patient = -o hang_timeout=3600

# $(call install,VENV,REQUIREMENTS): an environment whose last installation was cut off is rebuilt.
define install
@if [ -e $(1)/incomplete ] || ! $(1)/$(bin)/python -m pip --version >/dev/null 2>&1; then \
	echo "$(PYTHON) -m venv --clear $(1)"; $(PYTHON) -m venv --clear $(1); fi
@touch $(1)/incomplete
$(1)/$(bin)/python -m pip install --quiet $(2)
@rm $(1)/incomplete
@touch $@
endef

.venv/audit.stamp: pyproject.toml constraints.txt .venv/$(bin)/python$(exe)
	$(call install,.venv,-c constraints.txt -e ".[$(audit_extras)]")

.venv/doc.stamp: pyproject.toml constraints.txt .venv/$(bin)/python$(exe)
	$(call install,.venv,-c constraints.txt -e ".[$(doc_extras)]")

.venv/lint.stamp: pyproject.toml constraints.txt .venv/$(bin)/python$(exe)
	$(call install,.venv,-c constraints.txt -e ".[lint]")

.venv/test.stamp: pyproject.toml constraints.txt .venv/$(bin)/python$(exe)
	$(call install,.venv,-c constraints.txt -e ".[$(tested_extras)]")

.venv-install/test.stamp: pyproject.toml constraints.txt .venv-install/$(bin)/python$(exe)
	$(call install,.venv-install,-c constraints.txt ".[test]")

lower_bounds = import tomllib; \
	project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*(bound.replace(">=", "==") for bound in project["dependencies"]))

.venv-oldest/test.stamp: pyproject.toml constraints-oldest.txt .venv-oldest/$(bin)/python$(exe)
	$(call install,.venv-oldest,--only-binary :all: -c constraints-oldest.txt \
		$$($(PYTHON) -c '$(lower_bounds)') -e ".[test]")

.venv-newest/test.stamp: pyproject.toml .venv-newest/$(bin)/python$(exe)
	$(call install,.venv-newest,--upgrade -e ".[$(newest_extras)]")

# No recipe: where the interpreter is gone, every stamp of its environment is out of date.
.venv/$(bin)/python$(exe) .venv-install/$(bin)/python$(exe) .venv-oldest/$(bin)/python$(exe) \
	.venv-newest/$(bin)/python$(exe):
