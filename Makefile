PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Each stamp says that .venv holds what pyproject.toml asks for; the second includes the first.
RUN := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
PAGES := $(patsubst notebooks/%.py,docs/_notebooks/%.ipynb,$(wildcard notebooks/*.py))

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test solvers lowest wheels check coverage fuzz lint docs notebooks lessons bench campaign clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUN) ## plain SVM against SVMs that know more, on real digits, in under a minute
	$(BIN)/priorsvm demo

test: $(DEV) ## every test, the slow ones and the notebooks included
	$(BIN)/pytest -n 2

# In an environment of its own: other tests list the installed solvers.
solvers: ## further solvers of CVXPY, as many as pip installs, and MLflow, in an environment of their own
	@test -x $(VENV)-solvers/bin/python || $(PYTHON) -m venv $(VENV)-solvers
	@$(VENV)-solvers/bin/python -m pip install --quiet --disable-pip-version-check -e ".[solvers-all,skops,onnx,pandas]" \
		"mlflow-skinny>=3.17" "pytest>=8.0" "pytest-xdist>=3.6"
	$(VENV)-solvers/bin/python -m pytest -n 2 tests/solve/test_all_solvers.py tests/io/test_mlflow.py

# As `pip install` would have it in the worst case: the lowest version that pyproject.toml allows.
lowest: ## the quick tests, or those of SLICE, with the lowest versions, in an environment of their own
	@test -x $(VENV)-lowest/bin/uv || { $(PYTHON) -m venv $(VENV)-lowest && \
		$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv; }
	@UV_SYSTEM_CERTS=1 $(VENV)-lowest/bin/uv pip install --quiet --python $(VENV)-lowest --resolution lowest-direct \
		--only-binary :all: -r pyproject.toml --extra all "pytest>=8.0" "pytest-xdist>=3.6" "hypothesis>=6.100"
	@UV_SYSTEM_CERTS=1 $(VENV)-lowest/bin/uv pip install --quiet --python $(VENV)-lowest --no-deps -e .
	$(VENV)-lowest/bin/python -m pytest -n 2 -m "not slow" $(or $(SLICE),tests)

wheels: $(DEV) ## whether pip finds wheels only, on four platforms and four Pythons; needs a network
	PRIORSVM_ONLINE=1 $(BIN)/pytest -rs tests/test_wheels.py

check: lint ## lint and the quick tests, in under three minutes
	$(BIN)/pytest -n 2 -m "not slow"

coverage: $(DEV) ## the branches of priorsvm that the quick tests run, at least 95 %; about ten minutes
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2 -m "not slow"
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

fuzz: $(DEV) ## long random tests of the rule parser, of load and of bounds; PRIORSVM_FUZZ is the number of tries
	PRIORSVM_FUZZ=$${PRIORSVM_FUZZ:-20000} $(BIN)/pytest tests/fuzz \
		tests/large/test_exact.py::test_the_lower_bound_is_never_above_the_optimum

lint: $(DEV) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(DEV) $(PAGES) ## the documentation, in docs/_build/html, and checks of its pages; runs notebooks first, minutes
	@rm -f $(filter-out $(PAGES),$(wildcard docs/_notebooks/*.ipynb))
	@rm -f $(filter-out $(PAGES:docs/_notebooks/%=docs/_solutions/%),$(wildcard docs/_solutions/*.ipynb))
	@rm -f $(filter-out $(foreach end,ex sol,$(PAGES:docs/_notebooks/%.ipynb=docs/_notebooks/files/%_$(end).ipynb)),$(wildcard docs/_notebooks/files/*.ipynb))
	@rm -rf docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q -d docs/_build/doctrees -b html docs docs/_build/html
	PRIORSVM_SITE=docs/_build/html $(BIN)/pytest -rs tests/test_site.py

notebooks: $(PAGES) ## run the lessons that changed: pages, exercises and solutions, in docs/_notebooks

# A notebook is run by its test, which keeps what came out: after `make test` nothing is left to run.
docs/_notebooks/%.ipynb: notebooks/%.py docs/lessons.py | $(DEV)
	$(BIN)/pytest "tests/test_notebooks.py::test_runs_and_shows_a_picture[$*]"

lessons: $(DEV) ## run all lessons in empty folders with the wheel, as a student does, in under four minutes
	PRIORSVM_WHEEL=1 timeout 240 $(BIN)/pytest -n 2 tests/test_notebooks.py -k test_runs

bench: $(DEV) ## speed as ratios to peers measured in the same run
	$(BIN)/python -m benchmarks

campaign: $(DEV) ## 2000 random compositions of all blocks by SCHUR and CLARABEL; the quick tests have a slice
	$(BIN)/python -m benchmarks campaign

clean: ## remove whatever the other targets made
	rm -rf $(VENV) $(VENV)-solvers $(VENV)-lowest .pythons docs/_build docs/_notebooks docs/_solutions docs/_gallery docs/api .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.*
	rm -f priorsvm-demo.png priorsvm-demo-rule.png
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Two BLAS pools on two cores slow each other down.
test solvers lowest check coverage fuzz docs notebooks lessons: export OPENBLAS_NUM_THREADS = 1
test solvers lowest check coverage fuzz docs notebooks lessons: export OMP_NUM_THREADS = 1
test solvers lowest check coverage fuzz docs notebooks lessons: export MPLBACKEND = Agg

# Tests start a hundred processes: each would compile the whole package again.
unexport PYTHONDONTWRITEBYTECODE

$(RUN): pyproject.toml | $(BIN)/python
	@echo "Installing priorsvm in $(VENV) ..."
	@$(PIP) -e .
	@touch $@

$(DEV): pyproject.toml | $(BIN)/python
	@echo "Installing priorsvm and its development tools in $(VENV) ..."
	@$(PIP) -e ".[dev]"
	@touch $(RUN) $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "priorsvm needs Python 3.11 or newer, and $(PYTHON) is not." \
			"Name one that is, for example: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) cannot make a virtual environment; some systems keep the module venv in a package" \
			"of its own (python3-venv)." >&2; exit 1; }
