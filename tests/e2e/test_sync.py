"""Two machines of one person, each a home of its own, that exchange what is remembered through a folder."""

import pytest

from tests.conftest import Program


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "folder"
    path.mkdir()
    return path


@pytest.fixture
def laptop(tmp_path):
    return machine(tmp_path, "laptop")


@pytest.fixture
def desktop(tmp_path):
    return machine(tmp_path, "desktop")


def machine(path, name):
    (path / name).mkdir()
    return Program(path / name).let_scripts_decide()


def joined(folder, first, *others):
    """Let machines exchange through the folder; gives the key."""
    ran = first("sync", folder)
    assert ran.code == 0, ran.err
    key = ran.err.partition("--key ")[2].split()[0]
    for other in others:
        assert other("sync", folder, "--key", key).code == 0
    return key


def test_what_was_said_on_one_machine_is_found_on_the_other(folder, laptop, desktop):
    laptop("ask", "my dentist is Dr Quellwasser in Graz")
    laptop("notes", "add", "the router password is in the blue box")
    joined(folder, laptop, desktop)
    assert "my dentist is Dr Quellwasser" in desktop("search", "dentist").out
    assert "the router password" in desktop("notes", "list").out
    assert not any(b"Quellwasser" in each.read_bytes() for each in folder.rglob("*.segment"))


def test_a_machine_without_the_key_is_turned_away(folder, laptop, desktop):
    key = joined(folder, laptop)
    ran = desktop("sync", folder)
    assert (ran.code, ran.out, "other machines exchange in" in ran.err) == (2, "", True)
    for wrong in ("", "AAAA-BBBB", key[:-1] + ("A" if key.endswith("7") else "7")):
        ran = desktop("sync", folder, "--key", wrong)
        assert (ran.code, "key" in ran.err) == (2, True)
    assert (ran := desktop("sync", folder, "--key", "-", stdin=f"{key}\n")).code == 0, ran.err
    assert key not in desktop("sync").err
    assert key in desktop("sync", "--show-key").out


def test_what_is_forgotten_on_one_machine_is_erased_on_the_other_and_in_the_folder(folder, laptop, desktop):
    laptop("ask", "my dentist is Dr Quellwasser in Graz")
    joined(folder, laptop, desktop)
    assert desktop("forget", "--topic", "Quellwasser", "--yes").code == 0
    ran = desktop("sync", folder)
    assert ran.code == 0, ran.err
    ran = laptop("sync", folder)
    assert "erased here, as on another machine. Searched the file" in ran.out
    assert laptop("search", "dentist").out == ""
    assert not any(b"Quellwasser" in each.read_bytes() for each in laptop.db.parent.glob("memory.db*"))


def test_a_sealed_home_exchanges_with_one_that_is_not_and_what_is_forgotten_is_in_no_file(folder, laptop, desktop):
    assert laptop("db", "seal", "--command", "echo 5eed").code == 0
    laptop("ask", "my dentist is Dr Quellwasser in Graz")
    joined(folder, laptop, desktop)
    desktop("notes", "add", "the Kranichfeder is in the blue box")
    desktop("sync")
    laptop("sync")
    assert "Kranichfeder" in laptop("notes", "list").out
    assert laptop("forget", "--topic", "Quellwasser", "--yes").code == 0
    laptop("sync")
    assert "erased here, as on another machine. Searched the file" in desktop("sync").out
    held = {path: path.read_bytes() for place in (laptop.home, folder) for path in place.rglob("*") if path.is_file()}
    assert [path for path, found in held.items() if b"Quellwasser" in found or b"Kranichfeder" in found] == []
    assert not any(b"Quellwasser" in path.read_bytes() for path in desktop.home.rglob("*") if path.is_file())
    assert laptop("db", "check").code == 0


def test_with_the_setting_machines_exchange_with_the_jobs_and_a_folder_that_is_away_is_waited_for(
    folder, laptop, desktop
):
    joined(folder, laptop, desktop)
    for each in (laptop, desktop):
        assert each("config", "set", "sync", str(folder)).code == 0
    laptop("notes", "add", "the router password is in the blue box")
    away = folder.rename(folder.with_name("away"))
    assert laptop("jobs", "run", "--until-idle").code == 0
    assert "NOT  sync" in laptop("doctor").out
    away.rename(folder)
    laptop("jobs", "run", "--until-idle")
    desktop("jobs", "run", "--until-idle")
    assert "the router password" in desktop("notes", "list").out
    assert "used by" in desktop("doctor").out
    laptop("notes", "add", "the stamps are beside it")
    assert laptop("sync").out == "read: nothing new; written: 1 change\n"
    assert desktop("sync").out == "read: 1 note; written: nothing new\n"


def test_a_machine_that_takes_no_part_any_more_leaves_nothing_in_the_folder(folder, laptop):
    laptop("notes", "add", "the router password is in the blue box")
    joined(folder, laptop)
    ran = laptop("sync", "--off")
    assert (ran.code, ran.out) == (0, "this machine takes no part any more; what is remembered here stays\n")
    laptop("jobs", "run", "--until-idle")
    assert [*folder.rglob("*.segment")] == []
    assert "password" in laptop("notes", "list").out


def test_what_cannot_be_exchanged_is_said_in_a_sentence(folder, laptop):
    assert "name a folder" in laptop("sync").err
    assert "connect what it is on" in laptop("sync", folder / "nowhere").err
    assert "the assistant" in laptop("sync", folder, env={"AGENT_CHILD": "1"}).err
