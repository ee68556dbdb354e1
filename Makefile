# Every target does its own set-up: a virtual environment, the pinned packages, the model file.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint audit bench docs clean

demo: $(READY)
	$(BIN)/populace run norms --model embedded+people-calibrated --seed 1

test: $(READY)
	$(BIN)/populace models --fetch
	$(BIN)/python -m pytest -n 2 --dist loadgroup

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

audit: $(READY)
	POPULACE_AUDIT=1 $(BIN)/python -m pytest -n 0 -m audit
	$(BIN)/python benchmarks/coverage.py
	$(BIN)/python benchmarks/causal_designs.py
	$(BIN)/python benchmarks/card.py

bench: $(READY)
	$(BIN)/populace models --fetch
	$(BIN)/python benchmarks/run.py

docs: $(READY)
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "wrote build/site/index.html"

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[analysis,demand,games,survey,studio,docs,dev]'
	touch $(READY)
