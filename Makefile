# `make demo` and `make test` need python3 (3.11 or newer) and nothing else; the rest is fetched.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCK := requirements/dev.txt
LOCK_STAMP := $(VENV)/.locked
STAMP := $(VENV)/.installed
SPARK_STAMP := $(VENV)/.installed-spark
PIP_COMPILE := .cache/lock-venv/bin/pip-compile
# No flag that would write an index's address into a lock file.
LOCK_FLAGS := --quiet --generate-hashes --strip-extras --allow-unsafe --no-header --no-annotate \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links
# Python compiles what is imported, beside make check; pip would compile all, of which most is never.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --no-compile
PYTEST := $(BIN)/python -m pytest
CASES ?= 100000
REQUESTS ?= 1000000
SEED ?= $(shell date +%s)
PAGE ?= report.html
FOLDER ?= drawn-dashboards
KILLS ?= 10
FRAMES ?= 200
TRIES ?= 200
SECONDS ?= 1800
BROKERS ?= 3
OLD ?= HEAD~50
LAG ?= 250
AGAINST ?= HEAD
SUMS ?= $(CURDIR)/.cache/sums.txt
SEQUENCES ?= 100000
OPERATIONS ?= 1000000
# Where tests of these marks are: each process of pytest collects what it is given, and to collect
# all tests takes 20 s.
LIVE := tests/live tests/devkit tests/bench
# What is run against the gateway of each wheel: clients, namespaces, records, groups, ACLs, ends.
INSTALLED := tests/live/installed tests/live/clients tests/live/namespaces tests/live/records tests/live/groups \
	tests/live/access/test_acl_tools.py tests/live/operations/test_drain.py tests/live/operations/test_metrics.py

.DEFAULT_GOAL := help
.PHONY: help demo demo-tree report test test-all long check format unit jobs soak live live-installed live-lagging sums oracle callbacks fuzz fuzz-config fuzz-frames twins isolation rights leaning planted mirror fleet rolling dashboards drawn-dashboards log-lines map walk \
	tree-outages \
	compiled bench bench-quick bench-sizing bench-growth bench-tree bench-spark spark wheel chart lock upgrade clean
.NOTPARALLEL:

help:  ## Show this list.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

demo: $(STAMP)  ## Start Kafka and the gateway, show what they do, serve until Ctrl-C (ONCE=1: end).
	@$(BIN)/python -m devkit.demo $(if $(filter-out 0,$(ONCE)),--once)

demo-tree: $(STAMP)  ## Start two Kafkas and one gateway, one tree over both (ONCE=1: end).
	@$(BIN)/python -m devkit.demo_tree $(if $(filter-out 0,$(ONCE)),--once)

dashboards: $(STAMP)  ## Ask a real Prometheus every query of the dashboards and rules, under load.
	@$(BIN)/python -m devkit.dashboards

drawn-dashboards: $(STAMP)  ## Draw the dashboards of gateways under load as pictures (FOLDER=drawn-dashboards).
	@$(BIN)/python -m devkit.drawn_dashboards $(FOLDER)

report: $(SPARK_STAMP)  ## Let a few teams work on a Kafka; what Spark makes of it: report.html.
	@$(BIN)/python -m devkit.report $(PAGE)

log-lines: $(STAMP)  ## Write the table of log lines into docs/operations.md.
	@$(BIN)/python -m devkit.log_lines

walk: $(STAMP)  ## Write the table of what a Produce passes into ARCHITECTURE.md.
	@$(BIN)/python -m tests.docs.walk

map: $(STAMP)  ## Print every module with what it is for (IN=gateway/rules: of one folder).
	@$(BIN)/python -m devkit.file_map $(IN)

# One suite at a time on a machine: devkit.suite waits for any other.
SUITE := $(BIN)/python -m devkit.suite

test: $(SPARK_STAMP)  ## The gate: check, then the tests of every API and rule, on a real Kafka.
	@$(SUITE) test

test-all: $(SPARK_STAMP)  ## The gate, and the tests that it leaves out because they are long.
	@$(SUITE) test-all

check: $(STAMP)  ## Format, lint, types and import contracts.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)  ## Format the code and fix what the linter can fix.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

unit: $(STAMP)  ## The gate's tests that need no Kafka.
	@$(SUITE) unit

jobs: $(SPARK_STAMP)  ## The gate's tests of the Spark jobs; they need Java 17 or 21.
	@$(SUITE) jobs

soak: $(SPARK_STAMP)  ## Kill spark.ingest while files are being written (KILLS=10: how often).
	INGEST_KILLS=$(KILLS) $(PYTEST) -v tests/spark/test_ingest_kill.py

live: $(STAMP)  ## The gate's tests on a real Kafka, which they start themselves.
	@$(SUITE) live

long: $(SPARK_STAMP)  ## The tests that the gate leaves out (marked long or alone).
	@$(SUITE) long

live-installed: $(STAMP)  ## Live tests at the gateway of each wheel, installed.
	@$(BIN)/python -m devkit.class_archive
	@for form in compiled pure; do \
		command=$$($(BIN)/python -m devkit.installed $$form) && echo "$$command" && \
		KAFKA_GATEWAY_COMMAND=$$command $(PYTEST) -n 3 --dist loadfile --no-loadscope-reorder \
			-m "not alone" $(INSTALLED) || exit 1; \
	done

live-lagging: $(STAMP)  ## Live tests at brokers that apply each change late (LAG=250: milliseconds).
	KAFKA_LAG_MS=$(LAG) $(PYTEST) -v -n 3 --dist loadfile --no-loadscope-reorder -m "live and not alone" $(LIVE)

sums: $(STAMP)  ## Live tests that compare the metrics of each gateway with its logs (SUMS=FILE: what came of it).
	@$(BIN)/python -m devkit.class_archive
	@rm -f $(SUMS)
	KAFKA_GATEWAY_SUMS=$(SUMS) $(PYTEST) -v -n 3 --dist loadfile --no-loadscope-reorder -m "live and not alone" $(LIVE); \
		status=$$?; grep -c ": agree" $(SUMS); grep -v ": agree" $(SUMS); exit $$status

oracle: $(STAMP)  ## Ask a Kafka and the gateway the same, at random (CASES=100000: how often).
	ORACLE_CASES=$(CASES) $(PYTEST) -v tests/live/oracle/test_acl_oracle_decisions.py \
		tests/live/oracle/test_acl_oracle_wire.py tests/live/oracle/test_acl_oracle_changes.py \
		tests/live/oracle/test_policy_oracle.py

callbacks: $(STAMP)  ## Search for what holds up a worker's others longest (SECONDS=1800).
	CALLBACK_SECONDS=$(SECONDS) CALLBACK_SEED=$(SEED) $(PYTEST) -sv --timeout=$$(($(SECONDS) + 600)) \
		tests/session/test_callback_search.py

fuzz-frames: $(STAMP)  ## Send a gateway frames that are almost right (FRAMES=200: of each API and version).
	FUZZ_FRAMES=$(FRAMES) FUZZ_SEED=$(SEED) $(PYTEST) -v tests/live/fuzz/test_fuzz_frames.py

fuzz-config: $(STAMP)  ## Give commands files that are almost valid (SECONDS=1800, SEED=...).
	FUZZ_SECONDS=$(SECONDS) FUZZ_SEED=$(SEED) $(PYTEST) -v -s --timeout=$$(($(SECONDS) + 600)) \
		tests/checks/fuzz

twins: $(STAMP)  ## Ask what two worlds that a client may not tell apart answer (SECONDS=1800, SEED=...).
	TWINS_SECONDS=$(SECONDS) TWINS_SEED=$(SEED) $(PYTEST) -v --timeout=$$(($(SECONDS) + 600)) \
		tests/session/test_twins.py tests/session/test_twins_in_trees.py

isolation: $(STAMP)  ## Let two tenants do anything at random: neither may see the other (OPERATIONS=1000000, SEED=...).
	ISOLATION_OPERATIONS=$(OPERATIONS) ISOLATION_SEED=$(SEED) $(PYTEST) -sv --timeout=86400 \
		tests/session/test_isolation.py

rights: $(STAMP)  ## Let delegates change names and ACLs at random (SEQUENCES=100000, SEED=...).
	RIGHTS_SEQUENCES=$(SEQUENCES) RIGHTS_SEED=$(SEED) $(PYTEST) -v tests/changes/rights

fuzz: $(STAMP)  ## Ask a Kafka and the gateway any API at random (REQUESTS=1000000, SEED=...).
	FUZZ_REQUESTS=$(REQUESTS) FUZZ_SEED=$(SEED) $(PYTEST) -v tests/live/fuzz/test_differential_fuzz.py

leaning: $(STAMP)  ## Search for tests that lean on another (WAY=backwards or alone; TESTS=tests/live/moves).
	@$(SUITE) run $(BIN)/python -m devkit.suite.leaning $(WAY) $(TESTS)

mirror: $(STAMP)  ## Write to two sites that copy each other (SECONDS=1800): nothing may go in circles.
	MIRROR_SECONDS=$(SECONDS) $(PYTEST) -v --timeout=$$(($(SECONDS) + 1200)) \
		tests/live/mirror/test_active_active.py

fleet: $(STAMP)  ## Kill and stop gateways in turn under clients of all kinds (BROKERS=3).
	FLEET_BROKERS=$(BROKERS) FLEET_TIMES=5 FLEET_CLIENTS=5000 FLEET_PLAIN=1 $(PYTEST) -v -s tests/live/fleet

rolling: $(STAMP)  ## Replace gateways of an earlier revision (OLD=HEAD~50) by this one, under load.
	ROLLING_OLD=$$($(BIN)/python -m devkit.old_build $(OLD)) && export ROLLING_OLD && \
		$(PYTEST) -v tests/live/fleet/test_rolling_upgrade.py

tree-outages: $(STAMP)  ## Kill each gateway and each cluster of a tree of three in turn, under load.
	TREE_OUTAGES=1 $(PYTEST) -v -s tests/live/tree_of_gateways/test_gateway_lost.py

planted: $(STAMP)  ## Try to plant topics in new namespaces (TRIES=200: how often, each way).
	PLANTED_TRIES=$(TRIES) $(PYTEST) -v tests/live/namespaces/test_planted_topics.py

compiled: $(STAMP)  ## Install the compiled wheel of this tree into .cache, and print its command.
	@$(BIN)/python -m devkit.installed compiled

bench: $(STAMP)  ## Measure the gateway beside its peers; prints a table, writes JSON.
	@$(SUITE) run $(BIN)/python -m bench

bench-quick: $(STAMP)  ## Compare the CPU of a request with a revision, in pairs (AGAINST=HEAD, COMPILED=1).
	@$(SUITE) run $(BIN)/python -m bench.quick $(AGAINST) $(if $(filter-out 0,$(COMPILED)),--compiled)

bench-sizing: $(STAMP)  ## Measure cores, memory and latency with Java clients, beside peers (RECORD=1: into docs/sizing.md).
	@$(SUITE) run $(BIN)/python -m bench.sizing $(if $(filter-out 0,$(RECORD)),--record)

bench-growth: $(STAMP)  ## Sweep connections, topics, namespaces, ACLs, partitions, workers: worse than linear? (SHORT=1, RECORD=1: into docs/growth.md).
	@$(SUITE) run $(BIN)/python -m bench.growth $(if $(filter-out 0,$(SHORT)),--short) $(if $(filter-out 0,$(RECORD)),--record)

bench-tree: $(STAMP)  ## Look names up in a tree of 10,000 mounts; prints a table.
	@$(SUITE) run $(BIN)/python -m bench.tree_lookups

bench-spark: $(SPARK_STAMP)  ## Measure the Spark jobs over 1, 10 and 50 million records.
	@$(SUITE) run $(BIN)/python -m bench.spark_jobs

spark: $(SPARK_STAMP)  ## Add Spark to .venv (a 400 MB download), and its Kafka connector to .cache.
	@echo "KAFKA_GATEWAY_SPARK_JARS=$$($(BIN)/python -m devkit.spark_jars)"

wheel: $(STAMP)  ## Make the wheels in dist/: compiled to install, pure for spark-submit --py-files.
	@$(BIN)/python -m devkit.wheels dist

chart: $(STAMP)  ## Lint, render and validate the Helm chart; needs helm, or Go to build it.
	@$(BIN)/python -m devkit.chart

lock: $(PIP_COMPILE) $(STAMP)  ## Write the lock files again, with the versions they have.
	$(PIP_COMPILE) $(LOCK_FLAGS) $(UPGRADE) --extra dev --extra dashboards -o $(LOCK) pyproject.toml
	$(PIP_COMPILE) $(LOCK_FLAGS) -c $(LOCK) -o requirements/runtime.txt pyproject.toml
	$(PIP_COMPILE) $(LOCK_FLAGS) --extra spark -c $(LOCK) -o requirements/spark.txt pyproject.toml
	$(PIP_COMPILE) $(LOCK_FLAGS) $(UPGRADE) -o requirements/chart.txt requirements/chart.in
	$(PIP_COMPILE) $(LOCK_FLAGS) $(UPGRADE) -o requirements/tools.txt requirements/tools.in
	$(BIN)/python -m devkit.maven

upgrade: UPGRADE := --upgrade
upgrade: lock  ## Write the lock files again, with the newest versions.

clean:  ## Remove what was installed, downloaded and cached.
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache \
		build dist *.egg-info

$(LOCK_STAMP): $(LOCK)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Python 3.11 or newer is needed; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || true)."; \
		echo "Name another one with: make $(MAKECMDGOALS) PYTHON=/path/to/python3"; exit 1; }
	@echo "Making $(VENV) from $(LOCK)"
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r $(LOCK)
	@touch $@

$(STAMP): $(LOCK_STAMP) pyproject.toml
	$(PIP) --no-deps --no-build-isolation --no-index -e .
	@touch $@

# pyspark comes as sources only. A wheel of it that is not compressed takes half the time to make and
# unpack, because most of it are jars.
$(SPARK_STAMP): $(STAMP) requirements/spark.txt
	$(PIP) --require-hashes --no-build-isolation --config-settings=--build-option=--compression=stored \
		-r requirements/spark.txt
	@$(BIN)/python -m devkit.spark_scripts
	@touch $@

$(PIP_COMPILE):
	$(PYTHON) -m venv .cache/lock-venv
	.cache/lock-venv/bin/python -m pip install --quiet --disable-pip-version-check pip-tools==7.6.2
