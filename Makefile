# Everything runs in a virtual environment that these targets make: with uv if it is there, else with Python's venv.

PYTHON ?= python3
RUN := .venv/bin/
# tools/bootstrap installs it where there is none.
UV = $(or $(shell command -v uv),.uv/bin/uv)
# Tests of processes wait for much of their time, so more workers than cores.
PARALLEL := -n 4 --dist loadfile
export PYTHONUNBUFFERED := 1
# Where it is set, each process compiles every module again, and tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: pin-images demo demo-os-build test check lowest explore mutate lint types bench generate check-generated install-builder install-browser install-openstack install-planes pictures cross-compile clean help

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

demo: .venv/ready ## run the main job on real parts and show it (KEEP=1 leaves everything running)
	@$(RUN)windlass demo $(if $(KEEP),--keep)

demo-os-build: .venv/ready ## build OS images on real parts and show it; needs buildah (make install-builder)
	@$(RUN)windlass demo os-build $(if $(KEEP),--keep)

test: .venv/ready ## the test suite (ONLY=machine_sync: one capability and what it stands on; WHOLE=1: also what has its turn in other commits; CI=true: three second tries)
	@$(if $(WHOLE),WINDLASS_WHOLE=1) $(RUN)python -m $(if $(CI),tests.again,pytest) $(PARALLEL) $(if $(ONLY),--only $(ONLY)) $(PYTEST_ARGS)

check: lint ## a minute: lint, types, and the unit tests that mirror what changed since main
	@$(RUN)python -m tests.changed -x -n 2 --dist loadfile

lowest: .venv/ready ## three minutes: the unit tests of the runtime with the lowest versions that it declares
	$(UV) venv --quiet --clear --python .venv/bin/python .lowest
	$(UV) pip install --quiet --python .lowest/bin/python --resolution lowest-direct -e ./packages/kube
	$(UV) pip install --quiet --python .lowest/bin/python -e './packages/testing[openstack,pytest]' -e './packages/machines[signing]' \
	  'hypothesis>=6.170' 'pytest-asyncio>=1.5' 'pytest-timeout>=2.4' 'pytest-xdist>=3.6'
	.lowest/bin/python -m pytest -n 2 --dist loadfile tests/unit/kube

explore: .venv/ready ## hours: the same tests with new seeds, 20 times the examples, large fleets, all recorded rows
	@seed=$${WINDLASS_EXPLORE:-$$(date +%s)}; echo "to draw the same again: make explore WINDLASS_EXPLORE=$$seed"; \
	env -u CI WINDLASS_EXPLORE=$$seed $(RUN)python -m pytest --hypothesis-seed=$$seed $(PARALLEL) $(if $(ONLY),--only $(ONLY)) $(PYTEST_ARGS)

mutate: .venv/ready ## break the program on purpose and see that a test notices (WORDS="lease queue" chooses)
	@$(RUN)python -m tests.mutations $(WORDS)

lint: .venv/ready ## style, types, import contracts, generated files
	$(RUN)ruff check .
	$(RUN)ruff format --check .
	$(RUN)mypy
	$(RUN)lint-imports
	@$(MAKE) --no-print-directory check-generated

generate: .venv/ready ## write the files that are made from code
	$(RUN)windlass manifests --write deploy

check-generated: .venv/ready
	@$(RUN)windlass manifests --check deploy

bench: .venv/ready ## the tables of bench/README.md
	$(RUN)python -m bench

install-builder: ## install buildah for local OS builds and their tests (Debian and Ubuntu, as root)
	@tools/install-builder

install-browser: ## install Chromium for the tests of the web page (Debian, as root)
	@tools/install-browser

install-planes: .venv/ready ## build the programs of control planes, about 20 minutes once (tests do it themselves otherwise)
	$(RUN)python -m windlass.testing.binaries --all

pin-images: .venv/ready ## write the digests that images of tags have now in their registries into the files that name them
	@$(RUN)python tools/pin_images.py

install-openstack: .venv/ready ## install the OpenStack that tests use into the cache (they do it themselves otherwise)
	$(RUN)python -m windlass.testing.cloud

pictures: .venv/ready ## take the pictures of docs/web in Chromium (NAMES="openstack" chooses)
	@$(RUN)python -m tests.api.web.pictures $(NAMES)

cross-compile: .venv/ready ## prove that the control plane builds for the platforms this machine is not
	$(RUN)python -m windlass.testing.binaries --target linux/arm64 --target darwin/arm64 --into dist/cross

.venv/ready: pyproject.toml $(wildcard packages/*/pyproject.toml) uv.lock tools/bootstrap
	@tools/bootstrap
	@touch $@

clean: ## remove the virtual environment and caches of tools
	rm -rf .venv .uv .lowest .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
