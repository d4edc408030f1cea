# `make demo` and `make lab` need only Python. Targets for the pages need Node 20 or later.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo env lab notebooks test test-slow fuzz sweep test-compat test-hosts \
	test-wrappers check docs lite bench build clean node browser check-python check-types check-pages \
	check-rest test-pages test-python test-slow-python docs-env docs-site

PYTHON ?= python3
# Versions that were tested together. Several of them need Python 3.11 or later. On Python 3.10, and
# with `make CONSTRAINTS= …`, pip installs the newest versions that it finds.
CONSTRAINTS ?= $(shell $(firstword $(wildcard $(BIN)/python) $(PYTHON)) -c \
	'import sys; print("constraints.txt" * (sys.version_info >= (3, 11)))')
VENV := .venv
BIN := $(VENV)/bin
ENV := $(VENV)/.installed
DEMO_ENV := $(VENV)/.demo
COMPAT := .venv-compat
MODULES := js/node_modules/.installed
DEMO := build/demo

# Tests and demos show that nothing is fetched while they run.
export HF_HUB_OFFLINE := 1
# pytest runs several processes. With one thread each, no process waits for the core of another.
test test-slow test-slow-python test-compat test-hosts test-wrappers: export OMP_NUM_THREADS ?= 1
test test-slow test-slow-python test-compat test-hosts test-wrappers: export TOKENIZERS_PARALLELISM := false
# Python compiles a module when it first imports it. pip would compile all of torch, which takes
# longer than unpacking it.
export PYTHONDONTWRITEBYTECODE :=
INSTALL := -m pip install -q --no-compile
# npm fails if it cannot write its cache.
ifneq ($(shell test -w "$$HOME" && echo writable),writable)
export npm_config_cache ?= $(CURDIR)/build/npm
endif
ifneq ($(wildcard ../shared/data),)
export ATTNWIDGET_DATA ?= $(abspath ../shared/data)
endif

# $(call timed,part,command): run a command, and store its seconds for the line of all parts.
TIMES := build/times
timed = @mkdir -p $(TIMES); started=$$(date +%s); $(2) && \
	echo "$(1) $$(($$(date +%s) - started)) s" > $(TIMES)/$(1)
times = $$(cat $(TIMES)/* | paste -sd, | sed 's/,/, /g')

help:
	@echo "make demo         run the first notebook; write a page that opens in any browser ($(DEMO))"
	@echo "make env          install what the tests and the notebooks need into $(VENV)"
	@echo "make lab          JupyterLab on the notebooks"
	@echo "make notebooks    run all notebooks and store their outputs in them"
	@echo "make test         checks and tests of every change (needs Node; browser tests need Chromium)"
	@echo "make test-slow    whole matrices, further hosts, the documentation, processes, campaigns"
	@echo "make fuzz         mutated files and messages against every reader, faults against every"
	@echo "                  study with a resume file, for FUZZ_SECONDS (3600) and a sixth of them"
	@echo "make sweep        compare the maps of every architecture with the model's own; write the"
	@echo "                  models page of the documentation (about four minutes); compare the words"
	@echo "                  of every tokenizer class for all kinds of input (about three minutes)"
	@echo "make test-compat  the Python tests with the oldest versions that the package needs"
	@echo "make test-hosts   the figures in VS Code's manager, JupyterHub, JupyterLite, Panel, Shiny, …"
	@echo "make test-wrappers"
	@echo "                  models inside SentenceTransformer, CrossEncoder and Lightning modules"
	@echo "make check        ruff, mypy, TypeScript, biome"
	@echo "make docs         build the documentation in build/docs"
	@echo "make lite         build a page that runs Python in the browser in build/lite; \`make docs\`"
	@echo "                  then puts it into the documentation"
	@echo "make build        rebuild the page bundles in attnwidget/widgets/static"
	@echo "make bench        compare times with plain passes, and write the table of the speed page in the"
	@echo "                  documentation (about 15 minutes)"
	@echo "make clean        remove the results of the targets above, except the environments"

# install(environment, constraints, extras)
define install
	test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	$(1)/bin/python $(INSTALL) $(if $(2),-c $(2)) torch
	$(1)/bin/python $(INSTALL) $(if $(2),-c $(2)) -e '.[$(3)]'
endef

$(ENV): pyproject.toml constraints.txt
	$(call install,$(VENV),$(CONSTRAINTS),dev)
	touch $(DEMO_ENV) $@

# The demo needs a fifth of what the tests need.
$(DEMO_ENV): pyproject.toml constraints.txt
	$(call install,$(VENV),$(CONSTRAINTS),demo)
	touch $@

$(COMPAT)/.installed: pyproject.toml constraints-oldest.txt
	$(call install,$(COMPAT),constraints-oldest.txt,dev)
	touch $@

node:
	@command -v npm >/dev/null || { echo "This target needs Node 20 or later (node and npm on PATH); users of the package do not." >&2; exit 1; }

$(MODULES): js/package.json js/package-lock.json | node
	cd js && npm ci --no-audit --no-fund --loglevel=error
	touch $@

demo: $(DEMO_ENV)
	$(BIN)/python notebooks/execute.py notebooks/01_quickstart.ipynb $(DEMO)

env: $(ENV)

lab: $(ENV)
	$(BIN)/jupyter lab notebooks

notebooks: $(ENV)
	for notebook in notebooks/*.ipynb notebooks/lessons/*.ipynb; do \
		OMP_NUM_THREADS=1 $(BIN)/python notebooks/execute.py --store $$notebook build/notebooks || exit 1; \
	done

build: $(MODULES)
	cd js && npm run --silent build

check: $(ENV) $(MODULES)
	@$(MAKE) --no-print-directory -j 2 check-types check-python check-pages

check-python:
	$(call timed,ruff,$(BIN)/ruff check . && $(BIN)/ruff format --check .)

check-types:
	$(call timed,mypy,$(BIN)/mypy)

check-pages:
	$(call timed,biome-and-tsc,npm --prefix js run --silent check)

test-pages:
	$(call timed,vitest,npm --prefix js test --silent)

browser:
	@bash tests/browser/find_chromium.sh --install >/dev/null || true

check-rest:
	@for check in check-types check-pages test-pages; do $(MAKE) --no-print-directory $$check || exit 1; done

# A browser test waits for a page or a kernel half of its time, so three processes share two cores.
# If memory has room for only one process, the checks wait until pytest has ended.
PROCESSES ?= $(shell bash tests/processes.sh)
BESIDE = $(if $(filter 1,$(PROCESSES)),1,2)

# PYTEST: further options of pytest, for example a file.
test-python: $(ENV) browser
	$(call timed,pytest,$(BIN)/pytest -n $(PROCESSES) --dist worksteal -m "not slow" $(PYTEST))

test: $(ENV) $(MODULES) browser
	@rm -rf $(TIMES)
	@$(MAKE) --no-print-directory check-python
	@$(MAKE) --no-print-directory -j $(BESIDE) test-python check-rest
	@echo "make test: checks, page tests, Python tests and browser tests are done, none failed" \
		"($$(bash tests/browser/find_chromium.sh || echo 'no Chromium: browser tests were skipped'))." \
		"Times: $(times)."

SITE_TESTS := tests/browser/test_docs_site.py
test-slow-python: $(ENV) browser
	$(call timed,pytest,$(BIN)/pytest -n $(PROCESSES) --dist worksteal -m slow --ignore $(SITE_TESTS))

# The documentation is built in parallel with the tests, which wait for pages, kernels and processes.
test-slow: $(ENV) $(MODULES) browser docs-env
	@rm -rf $(TIMES)
	@$(MAKE) --no-print-directory -j $(BESIDE) test-slow-python docs-site
	$(call timed,pytest-of-the-site,$(BIN)/pytest -m slow $(SITE_TESTS))
	@echo "make test-slow: Python tests and browser tests are done, none failed. Times: $(times)."

# The seed is the date, so that the inputs change every day and are the same all day.
FUZZ_SECONDS ?= 3600
FUZZ_SEED ?= $(shell date +%Y%m%d)
fuzz: $(ENV)
	PYTHONPATH=.:tests $(BIN)/python tests/robustness/campaign.py --inputs 1000000000 \
		--seed $(FUZZ_SEED) --seconds $(FUZZ_SECONDS)
	PYTHONPATH=.:tests OMP_NUM_THREADS=1 $(BIN)/python -m robustness.faults --count 1000000000 \
		--seed $(FUZZ_SEED) --seconds $$(( $(FUZZ_SECONDS) / 6 ))

sweep: $(ENV)
	PYTHONPATH=.:tests OMP_NUM_THREADS=1 $(BIN)/python -m sweep.run --page docs/pages/about/models.md
	PYTHONPATH=.:tests OMP_NUM_THREADS=1 $(BIN)/python -m sweep.words

test-compat: $(COMPAT)/.installed
	$(COMPAT)/bin/pytest -n 2 --dist worksteal --ignore tests/browser

# Each host has its own environment. All environments share the packages of $(VENV), including torch,
# through a .pth file, so six environments need only 0.9 GB.
HOSTS := .venv-hosts
HOSTS_PYTHON := panel shiny solara voila streamlit jupyterhub
PACKAGES_panel := panel==1.9.4 ipywidgets-bokeh==1.8.0
PACKAGES_shiny := shiny==1.8.0 shinywidgets==0.8.2
# solara-assets has the files that a Solara page would load from a CDN, for ipyvuetify 1.
PACKAGES_solara := solara==1.64.1 solara-assets==1.58.2 ipyvuetify==1.12.0 ipyvue==1.13.0
PACKAGES_voila := voila==0.5.13
PACKAGES_streamlit := streamlit==1.67.0
PACKAGES_jupyterhub := jupyterhub==6.1.1
PACKAGES_lite := jupyterlite-core==0.8.6 jupyterlite-pyodide-kernel==0.8.6

$(HOSTS)/%/.installed: Makefile $(ENV)
	test -x $(@D)/bin/python || $(BIN)/python -m venv --without-pip $(@D)
	packages='import sysconfig; print(sysconfig.get_path("purelib"))'; \
		$(BIN)/python -c "$$packages" > "$$($(@D)/bin/python -c "$$packages")/shared.pth"
	$(@D)/bin/python $(INSTALL) $(PACKAGES_$*)
	touch $@

$(HOSTS)/node/.installed: Makefile | node
	mkdir -p $(@D)
	cd $(@D) && npm install --prefix . --no-audit --no-fund --loglevel=error configurable-http-proxy@5.3.0
	touch $@

# The widget manager of VS Code, in a page that starts a kernel in the same way as VS Code.
VSCODE := @vscode/jupyter-ipywidgets8@1.0.9 @jupyterlab/services@7.6.2 requirejs@2.3.8
$(HOSTS)/vscode/.installed: Makefile tests/hosts/apps/vscode.mjs tests/hosts/apps/vscode.html $(MODULES)
	mkdir -p $(@D)
	cd $(@D) && npm install --prefix . --no-audit --no-fund --loglevel=error $(VSCODE)
	NODE_PATH=$(@D)/node_modules js/node_modules/.bin/esbuild tests/hosts/apps/vscode.mjs --bundle \
		--format=esm --log-level=error --outfile=$(@D)/bundle.js
	cp tests/hosts/apps/vscode.html $(@D)
	touch $@

test-hosts: $(ENV) browser $(HOSTS_PYTHON:%=$(HOSTS)/%/.installed) $(HOSTS)/node/.installed \
		$(HOSTS)/vscode/.installed
	-$(MAKE) --no-print-directory lite # without the page, its test alone fails
	$(BIN)/pytest tests/hosts $(PYTEST)

# Further packages, which `make test` does not need.
test-wrappers: $(ENV)
	$(BIN)/python $(INSTALL) $(if $(CONSTRAINTS),-c $(CONSTRAINTS)) -e '.[wrappers]'
	$(BIN)/pytest tests/capture/test_opened_wrappers.py $(PYTEST)

# PYODIDE_WHEELS: a folder with the wheels that Pyodide compiled, for a machine without its CDN.
lite: $(HOSTS)/lite/.installed
	PYTHONPATH=. $(HOSTS)/lite/bin/python docs/lite/build.py

docs: docs-env
	@$(MAKE) --no-print-directory docs-site

docs-env: $(ENV)
	$(BIN)/python $(INSTALL) $(if $(CONSTRAINTS),-c $(CONSTRAINTS)) -e '.[docs]'

docs-site:
	$(call timed,documentation,$(BIN)/python docs/parts.py && \
		NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -f docs/mkdocs.yml)
	@echo "make docs: build/docs/index.html"

# BENCH: names of some benchmarks, for example "surface compare"; the page keeps the other rows.
bench: $(ENV)
	$(BIN)/python $(INSTALL) $(if $(CONSTRAINTS),-c $(CONSTRAINTS)) -e '.[bench]'
	PYTHONPATH=.:tests OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.run $(BENCH)

clean:
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find attnwidget tests -name __pycache__ -type d -prune -exec rm -rf {} +
