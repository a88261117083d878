# make app     set up .venv and open the app             make test    set up what tests need and run everything
# make lint    ruff and mypy                             make format  let ruff sort imports and lay out code
# make bench   compare with other libraries (slow)       make clean   remove the virtual environments
#
# A virtual environment is filled again only when its requirements change.
# PYTHON=python3.12 chooses the interpreter, ARGS="..." is handed to streamlit, pytest or the benchmarks.

PYTHON  ?= python3
VENV    := .venv
BENCH   := .venv-bench
WORKERS ?= 2
ARGS    ?=

.PHONY: app test lint format bench clean
.DEFAULT_GOAL := app

app: $(VENV)/.app
	$(VENV)/bin/streamlit run app.py $(ARGS)

# The browser tests measure latencies, so they run alone after the others.
test: lint
	$(VENV)/bin/python -m pytest -m "not e2e" -n $(WORKERS) --dist worksteal $(ARGS)
	$(VENV)/bin/python -m pytest -m e2e $(ARGS)

lint: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

format: $(VENV)/.dev
	$(VENV)/bin/ruff check --fix --select I .
	$(VENV)/bin/ruff format .

bench: $(BENCH)/.ready
	$(BENCH)/bin/python -m benchmarks $(ARGS)

clean:
	rm -rf $(VENV) $(BENCH)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] \
	    + ": try make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.app: requirements.txt | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.app
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

$(BENCH)/.ready: requirements.txt benchmarks/requirements.txt
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt -r benchmarks/requirements.txt
	@touch $@
