# Cliffwatch. `make` lists what can be made; README.md says what each is for.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

KERNEL_TREE ?=
SUITE ?= local-storage
QUICK ?=
KERNEL ?=
ISOLATION ?= auto
TEST_ARGS ?=
TEST_PROCESSES ?= $(shell echo $$(( ($$(nproc) * 3 + 1) / 2 )))
LOAD_ARGS ?=
BUSY_ARGS ?=
TIMES_ARGS ?=
COMPOSE_ARGS ?=
MACHINES ?=
FOLLOWED_ARGS ?=
PLANTED_ARGS ?=
MOVING_ARGS ?=
SEED ?= 1
HOSTS ?= 50
PUSHES ?= 1000
DAY_ARGS ?=
MUTANTS ?= cliffwatch.*

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

.PHONY: setup
setup: $(VENV)/.ready ## the virtual environment with the `cliffwatch` command

$(VENV)/.ready: requirements/setup.txt requirements/dev.txt requirements/dashboards.txt pyproject.toml runner/pyproject.toml service/pyproject.toml
	@tools/install-packages.sh python
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Cliffwatch needs Python 3.11 or newer: make setup PYTHON=python3.12")'
	@tools/install-python.sh $(VENV) $(PYTHON)
	@touch $@

.PHONY: packages
packages: ## Debian or Ubuntu packages for building and booting kernels (says which)
	@tools/install-packages.sh python kernel guest

.PHONY: demo
demo: demo-suite ## measure a real kernel against a patched one (SUITE=NAME for another suite, KERNEL_TREE=DIR for another tree, ISOLATION=none where nothing isolates); QUICK=1 builds no kernel
	@tools/install-packages.sh python
	@$(MAKE) --silent --no-print-directory -j2 setup demo-packages
	@ISOLATION="$(ISOLATION)" SUITE="$(SUITE)" QUICK="$(QUICK)" KERNEL="$(KERNEL)" tools/demo.sh "$(KERNEL_TREE)"

.PHONY: demo-packages
demo-packages:
	@tools/install-packages.sh kernel guest $(if $(KERNEL_TREE),,source)

.PHONY: demo-suite
demo-suite:
	@tools/demo_suite.sh "$(SUITE)"

.PHONY: lint
lint: setup ## ruff, mypy (tools and tests too), import-linter, shellcheck, the workflows' checks, the catalogue's own
	@tools/install-packages.sh lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/cliffwatch suites check
	shellcheck $$(git ls-files '*.sh' '.ci/run')
	$(BIN)/hadolint images/*/Dockerfile
	$(BIN)/zizmor --offline --no-progress --quiet --config .github/zizmor.yml .github examples/github/*.yml
	@tools/install-test-programs.sh actionlint
	@! test -x $(BIN)/actionlint || $(BIN)/actionlint .github/workflows/*.yml examples/github/*.yml

.PHONY: test
test: test-programs ## every test but the long ones, the real kernel's among them
	PATH="$$PWD/$(BIN):$$PATH" $(BIN)/pytest -n $(TEST_PROCESSES) -m 'not long' $(TEST_ARGS)

.PHONY: test-programs
test-programs: setup ## all that `make test` calls: Debian's packages, and Go, Node.js, benchstat, actionlint, act below .venv
	@tools/install-packages.sh python kernel guest source perf browser units proxy
	@tools/install-test-programs.sh

.PHONY: test-fast
test-fast: setup ## the tests that need no kernel
	@tools/install-packages.sh browser
	$(BIN)/pytest -n $(TEST_PROCESSES) -m 'not kernel and not long' $(TEST_ARGS)

.PHONY: test-long
test-long: setup ## the tests that take minutes each, outside CI: a disk that is full
	$(BIN)/pytest -m long $(TEST_ARGS)

.PHONY: test-as-root
test-as-root: setup ## the tests of what root changes: limits, devices, control groups, the tuning helper, users, a real kernel
	$(BIN)/pytest -n $(TEST_PROCESSES) -m 'not long' $(or $(TEST_ARGS),$$(grep -v "^#" tests/as-root.txt))

.PHONY: calibrate
calibrate: setup ## hold the method against noise of known truth; writes docs/calibration.md and -watching.md (about an hour a seed: SEEDS='1 2 3'; PART=4 for one draw in four)
	@tools/install-test-programs.sh benchstat
	PATH="$$PWD/$(BIN):$$PATH" $(BIN)/python tools/calibrate --seeds $(or $(SEEDS),0) --part $(or $(PART),1)
	$(MAKE) calibrate-watching calibrate-layouts calibrate-matched calibrate-time

.PHONY: calibrate-watching
calibrate-watching: setup ## the same of steps in histories alone, beside Otava and SPA; writes docs/calibration-watching.md (SEEDS, PART as above)
	@tools/install-neighbours.sh
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/calibrate --page calibration-watching.md --seeds $(or $(SEEDS),0) --part $(or $(PART),1)

.PHONY: calibrate-layouts
calibrate-layouts: setup ## kernels in several layouts: false reports, intervals and power; writes docs/calibration-layouts.md (SEEDS, PART as above)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/calibrate --page calibration-layouts.md --seeds $(or $(SEEDS),0) --part $(or $(PART),1)

.PHONY: calibrate-matched
calibrate-matched: setup ## matched layouts: how often they say something false of a change; writes docs/calibration-matched.md (SEEDS, PART as above)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/calibrate --page calibration-matched.md --seeds $(or $(SEEDS),0) --part $(or $(PART),1)

.PHONY: calibrate-time
calibrate-time: setup ## plans with a time budget: whether what they say will be detectable is right; writes docs/calibration-time.md (SEEDS, PART as above)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/calibrate --page calibration-time.md --seeds $(or $(SEEDS),0) --part $(or $(PART),1)

.PHONY: measure-watching
measure-watching: setup ## CPU time of all steps of 3,000 series of 5,000 points, and of one new revision of them
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/measure_watching.py

.PHONY: mutants
mutants: setup ## break parsers, comparing and statistics line by line and list what no test notices (hours; goes on where it was stopped; MUTANTS='cliffwatch.comparing.exact.*' for a part)
	@. tools/package_settings.sh && share_settings $(BIN)/pip && $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/mutants.txt
	-nice -n 19 $(BIN)/mutmut run --max-children $(TEST_PROCESSES) '$(MUTANTS)'
	@$(BIN)/mutmut results | grep -v 'not checked'

.PHONY: load
load: setup ## fill a service with 100 million samples and measure it (about 15 minutes, 6 GB of disk; LOAD_ARGS=--help)
	$(BIN)/python tools/load $(LOAD_ARGS)

.PHONY: simulated-day
simulated-day: setup ## a day of 50 hosts and 1,000 pushes against a service of its own (25 minutes; HOSTS=5 PUSHES=20 DAY_ARGS='--seconds 30 --pace 0' for a short one)
	$(BIN)/python tools/simulated_day --seed $(SEED) --hosts $(HOSTS) --pushes $(PUSHES) $(DAY_ARGS)

.PHONY: service-memory
service-memory: setup ## the memory of a service, idle and over 100,000 reads (about 15 minutes)
	$(BIN)/python tools/service_memory.py

.PHONY: fuzz
fuzz: setup ## ten minutes of schemathesis against a service, and broken and monstrous files at every reader
	$(BIN)/python tests/fuzz/fuzz_parsers.py tests/data/bench-6.12-tcg tests/data/inputs --damages 200
	$(BIN)/python tests/fuzz/fuzz_limits.py
	tools/fuzz_api.sh 600

.PHONY: siege
siege: setup ## attack a service with archives, bombs and slow clients, and measure what others notice of it (about 6 minutes)
	$(BIN)/python tools/siege.py 20

.PHONY: break
break: setup ## kill worker, service and PostgreSQL 200 times with jobs in flight, and count the results
	$(BIN)/python tools/break_service.py 200

.PHONY: followed-branch
followed-branch: setup ## what building costs on a followed branch: ten commits to one BPF file (FOLLOWED_ARGS=--seed N)
	@tools/install-packages.sh python kernel source
	$(BIN)/python tools/followed_branch.py "$$(find /usr/src -maxdepth 1 -name 'linux-source-*.tar.*' | sort -V | tail -n 1)" $(FOLLOWED_ARGS)

.PHONY: planted-history
planted-history: setup ## 40 commits on a real kernel, three of which are slower, and a bisection that has to name them (about half an hour; SEED=N, PLANTED_ARGS='--patches DIR')
	@tools/install-packages.sh python kernel guest source
	$(BIN)/python tools/planted_history "$$(find /usr/src -maxdepth 1 -name 'linux-source-*.tar.*' | sort -V | tail -n 1)" --seed $(SEED) --bisect --out "planted-history-$(SEED)" $(PLANTED_ARGS)

.PHONY: planted-watching
planted-watching: setup ## twelve changes of .2 to 5 % among 21 commits, pushed to a branch that a service follows: which its reports name (some hours; goes on where it was stopped; SEED=N, PLANTED_ARGS='--patches DIR')
	@tools/install-packages.sh python kernel guest source
	$(BIN)/python tools/planted_watching "$$(find /usr/src -maxdepth 1 -name 'linux-source-6.12*.tar.*' | sort -V | tail -n 1)" --seed $(SEED) --out "planted-watching-$(SEED)" $(PLANTED_ARGS)

.PHONY: backup-test
backup-test: setup ## back a service up while runs come in, restore it, and hold the copy's samples against the original's
	$(BIN)/python tools/backup_under_load.py 60

.PHONY: images
images: ## build the images of docker-compose.yml from this checkout, under the names that .env gives them
	docker build --file images/toolchain/Dockerfile --tag "$${CLIFFWATCH_REGISTRY:-ghcr.io/cliffwatch}/toolchain:$${CLIFFWATCH_VERSION:-latest}" .
	docker compose --profile worker build worker service

.PHONY: compose-test
compose-test: setup ## build all images, compose them, and kill, upgrade, back up and attack what runs (about an hour; needs a container engine; COMPOSE_ARGS=images up for some steps)
	@tools/install-packages.sh source
	$(BIN)/python tools/compose_test.py $(COMPOSE_ARGS)

.PHONY: fresh-machine-test
fresh-machine-test: ## README's two commands in fresh containers of Debian, as root and as an ordinary user (hours; MACHINES=debian:trixie-slim:user for one)
	tools/fresh_machine_test.sh $(MACHINES)

.PHONY: busy-test
busy-test: setup ## hold icount runs against a busy host: eight busy loops, stopped emulators, a kernel that hangs (about 40 minutes)
	@tools/install-packages.sh python kernel guest source
	$(BIN)/python tools/busy_test.py "$$(find /usr/src -maxdepth 1 -name 'linux-source-*.tar.*' | sort -V | tail -n 1)" $(BUSY_ARGS)

.PHONY: rehearsal
rehearsal: setup ## walltime on an emulated processor: local-storage with a slower head, in stages, with its verdicts (an hour or more; KERNEL_TREE=DIR for another tree, REHEARSAL_ARGS='--boots careful')
	@tools/install-packages.sh python kernel guest $(if $(KERNEL_TREE),,source)
	$(BIN)/cliffwatch run --tree "$(or $(KERNEL_TREE),$(lastword $(sort $(wildcard /usr/src/linux-source-*.tar.*))))" --base HEAD --head HEAD --patch examples/uninline-local-storage-lookup.patch --suite local-storage --mode walltime --accel tcg --out cliffwatch-results/rehearsal $(REHEARSAL_ARGS)

.PHONY: killed-rehearsal
killed-rehearsal: setup ## a rehearsal killed at ten random moments, drawn by SEED: nothing measured is lost, the host's settings are put back (a quarter of an hour, root)
	@tools/install-packages.sh python kernel guest source
	$(BIN)/python tools/kill_rehearsal.py "$$(find /usr/src -maxdepth 1 -name 'linux-source-6.12*.tar.*' | sort -V | tail -n 1)" --seed "$(or $(SEED),1)" --out "cliffwatch-results/killed-rehearsal-$(or $(SEED),1)"

.PHONY: function-counts
function-counts: setup ## what counting by function costs and changes, on one kernel against itself (about half an hour; KERNEL_TREE=DIR for another tree)
	@tools/install-packages.sh python kernel guest $(if $(KERNEL_TREE),,source)
	$(BIN)/python tools/measure_function_counts.py --tree "$(or $(KERNEL_TREE),$(lastword $(sort $(wildcard /usr/src/linux-source-*.tar.*))))"

.PHONY: cost-shift
cost-shift: setup ## ten refactorings and ten real costs of a thousandth, drawn by SEED: which are told as moved, which named by function (two hours)
	@tools/install-packages.sh python kernel guest $(if $(KERNEL_TREE),,source)
	$(BIN)/python tools/cost_shift "$(or $(KERNEL_TREE),$(lastword $(sort $(wildcard /usr/src/linux-source-*.tar.*))))" --seed "$(or $(SEED),1)" --out "cliffwatch-results/cost-shift-$(or $(SEED),1)"

.PHONY: moving-code
moving-code: setup ## twenty patches that only move code, drawn by SEED: what is reported of them (an hour; MOVING_ARGS=--rehearse in walltime on an emulated processor: hours)
	$(BIN)/python tools/moving_code.py "$$(find /usr/src -maxdepth 1 -name 'linux-source-6.12*.tar.*' | sort -V | tail -n 1)" --seed $(SEED) $(MOVING_ARGS)

.PHONY: counting-plugin-test
counting-plugin-test: setup ## the counting plugin in another distribution's QEMU (Debian 13: QEMU 10), in a container
	tools/counting_plugin_test.sh

.PHONY: affected-test
affected-test: setup ## what `cliffwatch affected` leaves out of twenty seeded patches, and whether too much (hours; KERNEL_TREE=REPOSITORY COUNTS=RESULTS)
	$(BIN)/python tools/measure_affected.py --tree "$(KERNEL_TREE)" --counts "$(COUNTS)" --seed $(or $(SEED),$(shell date +%s)) --measure

.PHONY: screenshots
screenshots: setup ## make docs/screenshots anew from the demonstration; look at them before you commit them
	@tools/install-packages.sh browser
	$(BIN)/python tools/screenshots.py

.PHONY: dashboards
dashboards: setup ## make Grafana's dashboards anew from their builders (docs/dashboards.md)
	$(BIN)/python dashboards

.PHONY: dashboards-types
dashboards-types: setup ## hold the dashboards against Grafana's own types
	@tools/install-test-programs.sh npm types
	PATH="$$PWD/$(BIN):$$PATH" $(BIN)/python dashboards/types/check.py

.PHONY: dashboard-pictures
dashboard-pictures: setup ## draw the dashboards by Grafana's own components (docs/screenshots/grafana); look at them before you commit them
	@tools/install-packages.sh browser
	@tools/install-test-programs.sh npm
	PATH="$$PWD/$(BIN):$$PATH" $(BIN)/python tools/grafana_panels

.PHONY: dashboard-times
dashboard-times: setup ## time every query of the dashboards at 100 million samples (about 15 minutes, 8 GB of disk; TIMES_ARGS=--help)
	$(BIN)/python tools/dashboard_times.py $(TIMES_ARGS)

.PHONY: plots
plots: setup ## draw the plots of docs/method.md
	$(BIN)/uv run --quiet --no-project --isolated --python 3.11 --with matplotlib==3.10.7 --with numpy==$$($(BIN)/python -c 'import numpy; print(numpy.__version__)') \
	  --with scipy==$$($(BIN)/python -c 'import scipy; print(scipy.__version__)') tools/plot_method.py

.PHONY: wheels
wheels: setup ## the wheels of the three distributions, in dist/ (by what is pinned and installed: no network)
	@rm -f dist/*.whl
	for part in . runner service; do \
	  $(BIN)/uv build --quiet --offline --wheel --no-build-isolation --no-create-gitignore --python $(BIN)/python --out-dir dist $$part || exit 1; done

.PHONY: wheels-test
wheels-test: wheels ## install the wheels into an empty environment and start what is in them
	tools/wheels-test.sh

.PHONY: lock
lock: setup ## pin the requirements anew, with hashes
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header requirements/setup.in -o requirements/setup.txt
	for name in otava spa go node; do \
	  $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header requirements/$$name.in -o requirements/$$name.txt; done
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-emit-package cliffwatch \
	  --all-extras --group pyproject.toml:dev pyproject.toml runner/pyproject.toml service/pyproject.toml -o requirements/dev.txt
	for part in runner service; do \
	  $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --constraint requirements/dev.txt \
	    --no-emit-package cliffwatch pyproject.toml $$part/pyproject.toml -o requirements/$$part.txt; done
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --constraint requirements/dev.txt \
	  --group pyproject.toml:mutants -o requirements/mutants.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --constraint requirements/dev.txt \
	  --group pyproject.toml:dashboards -o requirements/dashboards.txt
