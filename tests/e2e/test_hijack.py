"""A folder in which the program runs may hold anything, also files that are named like its own modules."""

import sys
import time

import pytest

from agent_cli.app import background
from agent_cli.app.app import open_app
from agent_cli.repl import reminders
from agent_cli.store import jobs


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """The file that appears when the folder's own `agent_cli` is run."""
    sprung = tmp_path / "sprung"
    folder = tmp_path / "cloned"
    (folder / "agent_cli").mkdir(parents=True)
    (folder / "agent_cli" / "__init__.py").write_text(f"open({str(sprung)!r}, 'w')\n")
    for name in ("AGENT_CONFIG", "AGENT_DB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder)
    return sprung


def waited_for(done):
    until = time.monotonic() + 20
    while not done() and time.monotonic() < until:
        time.sleep(0.02)
    return done()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the process is left behind
def test_what_is_left_to_a_process_in_the_background_runs_nothing_of_the_folder(trap, tmp_path):
    app = open_app({"db": str(tmp_path / "memory.db")}, lambda _: None, config_file=tmp_path / "config.toml")
    jobs.add(app.db, "index", "all", app.time())
    background.start(app)
    assert waited_for(lambda: trap.exists() or not jobs.any_due(app.db, app.time()))
    assert not trap.exists()
    app.db.close()


def test_the_command_for_reminders_is_run_by_nothing_of_the_folder(trap, tmp_path):
    told = tmp_path / "told"
    write = f"import sys; open({str(told)!r}, 'w').write(sys.argv[1])"
    assert reminders.run_command([sys.executable, "-c", write], ["call Anna"]) == ""
    assert waited_for(lambda: trap.exists() or (told.exists() and told.read_text()))
    for each in reminders._started:
        each.wait()
    assert (trap.exists(), told.read_text()) == (False, "call Anna")
