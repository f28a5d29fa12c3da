# Every target makes, mends and fills .venv by itself (scripts/setup.sh); nothing else is needed but
# make, bash and Python 3.11 or newer. PYTHON=... names the Python of a new .venv; ARGS=... adds
# arguments to a command.

BIN := .venv/bin
CHECKOV := checkov==3.3.30

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-cloud lint types format lock emr-lab aws-lab clean setup-demo setup-dev setup-checkov

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## /make \1|/' | \
		awk -F '|' '{ printf "  %-12s %s\n", $$1, $$2 }'

demo: setup-demo ## Show the whole idea, with no key and no cloud (ARGS=--smallest: less of it)
	@$(BIN)/bothends demo $(ARGS)

test: setup-dev ## Run the tests (ARGS='-m "not slow"': the quick ones)
	@$(BIN)/pytest -n auto --dist loadgroup -m "not cloud" $(ARGS)

# They wait more than they work, and so are three at once on any machine.
test-cloud: setup-dev ## Run the tests of EMR's clusters and jobs, on this machine
	@$(BIN)/pytest -n 3 --dist loadgroup -m cloud $(ARGS)

lint: setup-dev ## Check format and lint
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

# mypy does not know of setuptools' package-dir: it must see the package as it is installed.
types: setup-dev ## Check types, on an installed copy of the package
	@rm -rf build
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --target build/typed .
	@cd build/typed && ../../$(BIN)/mypy --config-file ../../pyproject.toml \
		--cache-dir ../../.mypy_cache -p bothends

format: setup-dev ## Format the code and mend what lint can mend
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

# Versions that still fit are kept; remove constraints.txt first to take the newest of each.
lock: setup-dev ## Pin the versions of everything anew, after a change in pyproject.toml
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --all-extras \
		--no-annotate --custom-compile-command 'make lock' --quiet --output-file constraints.txt

emr-lab: setup-dev ## Sweep on EMR from nothing to nothing, on an AWS on the loopback
	@$(BIN)/python -m tests.terraform.emr_lab

aws-lab: setup-dev ## Run that AWS by itself, to try terraform/ on (ARGS=4566: its port)
	@$(BIN)/python tests/terraform/aws_lab.py $(ARGS)

clean: ## Remove .venv, builds and caches; data and runs stay
	@rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

setup-demo:
	@scripts/setup.sh spark

setup-dev:
	@scripts/setup.sh dev

# In an environment of its own, since it pins other versions of what is used here.
setup-checkov: setup-dev
	@test -x .venv/checkov/bin/checkov || { $(BIN)/python -m venv .venv/checkov && \
		.venv/checkov/bin/python -m pip install --quiet --disable-pip-version-check $(CHECKOV); }
