"""A sealed home shows nothing of what was told, and all works as before; a key that is lost or wrong is said."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from agent_cli.store import sealing
from tests.terminal import ENTER

TOLD = ("Schwarzwaldklinik", "Xylophon", "Glottertal", "Kranichfeder")
PASSPHRASE = "correct horse Kranichfeder"


@pytest.fixture
def home(program):
    """A home with something told, in the file and in a backup."""
    program.let_scripts_decide()
    program.env["AGENT_MODEL"] = "offline"
    program.env["PYTHON_KEYRING_BACKEND"] = "tests.keyring_in_file.Keyring"
    program("notes", "add", "the Schwarzwaldklinik lies in Glottertal")
    program("facts", "add", "my dentist is called Xylophon")
    assert program("db", "backup", str(program.home / "backup.db")).code == 0
    assert told(program) == {"memory.db", "backup.db"}
    return program


def told(program):
    """The files of the home, of the temporary folder too, in which a told word or the passphrase stands."""
    places = [program.home, Path(program.env["TMPDIR"])]
    found = (each for place in places for each in place.rglob("*") if each.is_file())
    return {each.name for each in found if any(word.encode().lower() in each.read_bytes().lower() for word in TOLD)}


def works(program, env=None):
    """Whether a search finds what was told, and the file is whole."""
    found = program("search", "Xylophon", env=env)
    return "Xylophon" in found.out and program("db", "check", env=env).code == 0


def sealed_with(home, way):
    """Seal it in one of the ways; what the environment must have from then on."""
    options = {
        "keyring": [],
        "key file": ["--key-file", str(home.home / "stick" / "agent.key")],
        "command": ["--command", "printf %s 5eed"],
        "passphrase": ["--passphrase"],
    }[way]
    if way == "keyring":
        pytest.importorskip("keyring")
        home.env["TEST_KEYRING"] = str(home.home.with_name("keyring.json"))
    if way == "passphrase":
        screen = home.at_terminal("db", "seal", "--passphrase")
        screen.wait("new passphrase:").type(PASSPHRASE + ENTER)
        screen.wait("the same again:").type(PASSPHRASE + ENTER)
        assert screen.ended() == 0
        assert PASSPHRASE not in screen.text
        screen.close()
        home.env[sealing.VARIABLE] = PASSPHRASE
        return
    ran = home("db", "seal", *options)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [f"sealed: {home.db}", f"sealed: {home.home / 'backup.db'}"]


@pytest.mark.parametrize("way", ["keyring", "command", "passphrase"])
def test_a_home_is_sealed_in_each_way_and_works_as_before(home, way):
    sealed_with(home, way)
    assert told(home) == set()
    kind = "key command" if way == "command" else way
    assert home("db", "key").out.startswith(f"sealed: {kind}, ")
    assert home("db", "status", "--json").json["sealed"] == kind
    assert works(home)


def test_no_file_of_a_sealed_home_shows_a_word_that_is_told_during_use_or_after(home, terminal):
    sealed_with(home, "key file")
    screen = terminal().wait_prompt()
    screen.enter("Remember that the Kranichfeder belongs to Xylophon")
    screen.wait("Kranichfeder").wait_prompt()
    screen.type("and a draft of Glottertal").wait("Glottertal")
    assert told(home) == set()  # while the journal holds what was said a moment ago
    screen.hang_up()
    assert home("db", "backup", str(home.home / "second.db")).code == 0
    assert home("jobs", "run", "--until-idle").code == 0
    assert home("db", "compact").code == 0
    home("notes", "add", "the lantern of Quirin")
    assert "0 left" in home("forget", "n2", "--yes", "--also", "all").out
    copy = {"AGENT_DB": str(home.home / "second.db")}
    assert (works(home), works(home, copy), told(home)) == (True, True, set())
    changed = home("db", "key", "change", "--command", "echo 5eed")
    assert (changed.code, changed.out.count("sealed: "), told(home)) == (0, 3, set())
    assert works(home, copy)
    unsealed = home("db", "unseal")
    assert (unsealed.code, unsealed.out.count("no longer sealed: ")) == (0, 3)
    assert told(home) == {"memory.db", "second.db", "backup.db"}
    assert works(home)


@pytest.mark.skipif(not shutil.which("gnome-keyring-daemon"), reason="needs gnome-keyring and dbus-run-session")
def test_the_keyring_of_linux_is_asked_over_d_bus_without_the_package_that_takes_long(home, monkeypatch):
    del home.env["PYTHON_KEYRING_BACKEND"]
    daemon = "printf pw | gnome-keyring-daemon --unlock --components=secrets > /dev/null"
    script = f"{daemon}; echo $DBUS_SESSION_BUS_ADDRESS; read end"
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(["dbus-run-session", "sh", "-c", script], env=home.env, **streams) as session:
        home.env["DBUS_SESSION_BUS_ADDRESS"] = session.stdout.readline().strip()
        assert home("db", "seal").code == 0
        assert told(home) == set()
        assert works(home, {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"})
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", home.env["DBUS_SESSION_BUS_ADDRESS"])
        monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.SecretService.Keyring")
        head = bytes(16)
        sealing.put_in_keyring(head, PASSPHRASE * 7)  # the person may have put one there
        assert sealing._from_keyring(home.db, head) == PASSPHRASE * 7


def test_a_passphrase_is_asked_unseen_again_when_it_is_wrong_and_given_up_the_third_time(home):
    sealed_with(home, "passphrase")
    del home.env[sealing.VARIABLE]
    question = "passphrase of"
    screen = home.at_terminal("notes", "list")
    screen.wait(question).type("wrong" + ENTER)
    screen.wait(question, 2).type(PASSPHRASE + ENTER)
    screen.wait("the Schwarzwaldklinik lies")
    assert (screen.ended(), PASSPHRASE in screen.text) == (0, False)
    screen.close()
    screen = home.at_terminal("--incognito", "--memory")
    screen.wait(question).type(PASSPHRASE + ENTER)
    screen.wait_prompt().enter("what of the Schwarzwaldklinik?")
    screen.wait("lies in Glottertal").close()
    screen = home.at_terminal("notes", "list")
    for times in (1, 2, 3):
        screen.wait(question, times).type("wrong" + ENTER)
    assert screen.ended() == 6
    assert "the database is sealed, and this passphrase does not open it" in " ".join(screen.text.split())
    screen.close()
    said = f"agent: {home.db}: the database is sealed, and there is no terminal to ask for its passphrase: put it into "
    ran = home("notes", "list")
    assert (ran.code, ran.out) == (6, "")
    assert ran.err.startswith(f"{said}AGENT_KEY, or name a file or command that has it in the settings (")
    former = home("notes", "list", env={sealing.VARIABLE: "another"}).err  # of before it was sealed anew
    assert "the key in AGENT_KEY does not open it, and there is no terminal to ask for its passphrase: put it" in former


@pytest.mark.parametrize(
    ("way", "lost", "sentence"),
    [
        (
            "keyring",
            {"TEST_KEYRING": "{home}/none.json"},
            "{db}: the database is sealed, and its key is not in the keyring",
        ),
        (
            "keyring",
            {"TEST_KEYRING": "{home}"},  # what the keyring raises is no error of keyrings
            "{db}: the database is sealed, and the keyring cannot be used here ([Errno 21] Is a directory",
        ),
        (
            "keyring",
            {"TEST_KEYRING": "{home}/none.json", "AGENT_KEY": "other"},
            "the key in AGENT_KEY does not open it",
        ),
        ("key file", {"AGENT_SEAL": "{key_file = '/nowhere/key'}"}, "/nowhere/key, which has the key of the database,"),
        (
            "command",
            {"AGENT_SEAL": "{key_command = 'false'}"},
            "key_command in the settings (false) gives no key: run it",
        ),
        ("command", {"AGENT_SEAL": "{}"}, "{db}: the database is sealed, and it is not known where its key is: put it"),
    ],
)
def test_a_key_that_is_lost_or_wrong_is_said_in_one_sentence_and_the_file_is_not_called_damaged(
    home, way, lost, sentence
):
    sealed_with(home, way)
    before = home.db.read_bytes()
    env = {name: value.replace("{home}", str(home.home)) for name, value in lost.items()}
    salvaged = str(home.home / "salvaged.db")
    for words in (["notes", "list"], ["ask", "hi"], ["db", "check"], ["db", "unseal"], ["db", "salvage", salvaged]):
        ran = home(*words, env=env)
        assert (ran.code, ran.out, ran.err.count("\n")) == (6, "", 1), words
        assert sentence.replace("{db}", str(home.db)) in ran.err
    assert "damaged" not in home("doctor", env=env).out
    assert home.db.read_bytes() == before


def test_what_cannot_be_sealed_so_is_said_and_stays_as_it_was(home, terminal):
    before = home.db.read_bytes()
    rows = {
        "db seal --passphrase --command x": (2, "exclude each other"),
        "db seal --passphrase": (9, "a passphrase is typed at a terminal"),
        "db seal --command false": (6, "gives no key"),
        "db seal": (2, "the keyring of this system takes no key: seal with --passphrase, --key-file or --command"),
        "db key change": (2, "is not sealed; `agent db seal` seals it"),
        "db unseal": (0, "nothing to do"),
    }
    for words, (code, sentence) in rows.items():
        ran = home(*words.split())
        assert (ran.code, ran.out, sentence in ran.err, ran.err.count("\n")) == (code, "", True, 1), ran
    screen = terminal().wait_prompt()
    ran = home("db", "seal", "--command", "echo 5eed")
    assert (ran.code, "another process has the database open" in ran.err) == (6, True)
    screen.enter("/exit")
    screen.ended()
    assert home.db.read_bytes()[:16] == before[:16] == b"SQLite format 3\0"


def test_a_backup_that_could_not_be_sealed_is_named_and_sealed_by_the_next_run(home):
    other = home.home / "other"
    other.mkdir()
    assert home("db", "backup", str(other / "second.db")).code == 0
    (home.home / "backup.db").unlink()
    (other / "second.db").rename(other / "hidden.db")
    (other / "second.db").write_text("something else")
    ran = home("db", "seal", "--command", "echo 5eed")
    assert (ran.code, ran.out) == (6, f"sealed: {home.db}\n")
    assert f"{home.home}/backup.db is not there now; if you have it elsewhere, it is as it was" in ran.err
    assert f"not everything was changed; do this again once it can be:\n{other}/second.db: " in ran.err
    (other / "hidden.db").rename(other / "second.db")
    ran = home("db", "seal")
    assert (ran.code, ran.out) == (0, f"sealed: {other}/second.db\n")
    assert told(home) == set()


def test_a_key_whose_change_is_refused_or_left_at_a_backup_opens_every_file_as_before(home, terminal):
    sealed_with(home, "key file")
    screen = terminal().wait_prompt()
    ran = home("db", "key", "change", "--key-file", str(home.home / "other.key"))
    assert (ran.code, "another process has the database open" in ran.err) == (6, True)
    assert works(home)
    screen.enter("/exit")
    screen.ended()
    backup = home.home / "backup.db"
    whole = backup.read_bytes()
    backup.write_bytes(whole[:5000])
    (home.home / "other.key").chmod(0o644)
    ran = home("db", "key", "change", "--key-file", str(home.home / "other.key"))
    assert (ran.code, f"the key; `chmod 600 {home.home}/other.key` ends that" in ran.err) == (6, True)
    assert (works(home), ", sealed, ok" in home("doctor").out) == (True, True)
    backup.write_bytes(whole)
    assert home("db", "seal").out == f"sealed: {backup}\n"
    assert works(home, {"AGENT_DB": str(backup)})


def test_a_backup_is_restored_sealed_as_the_file_in_its_place_is_or_as_itself(home):
    plain = home.home / "plain.db"
    plain.write_bytes(home.db.read_bytes())
    sealed_with(home, "command")
    ran = home("db", "restore", str(plain))
    assert (ran.code, told(home)) == (0, {"plain.db"})
    assert "the copy was not sealed; the database has the key that it had before" in ran.err
    plain.unlink()
    assert works(home)
    home.db.rename(home.home / "former.db")
    ran = home("db", "restore", str(home.home / "backup.db"))
    assert (ran.code, told(home), works(home)) == (0, set(), True)


def test_no_process_that_the_program_starts_sees_the_key(home):
    sealed_with(home, "command")
    home.env |= {"AGENT_SEAL": "{}", sealing.VARIABLE: "5eed"}
    home.edit_with(f'env > "{home.home}/environment"; cat /proc/$PPID/environ > /dev/null')
    home.at_terminal("notes", "edit", "n1").ended()
    seen = (home.home / "environment").read_text()
    assert ("AGENT_CHILD" in seen, "5eed" in seen) == (True, False)


def test_what_is_queued_is_run_by_a_process_that_is_given_the_key(home):
    sealed_with(home, "passphrase")
    assert home("notes", "add", "we live in Graz", env={"AGENT_BACKGROUND_JOBS": "true"}).code == 0
    until = time.monotonic() + 30
    while {each["state"] for each in home("jobs", "list", "--json").json} != {"done"}:
        assert time.monotonic() < until
        time.sleep(0.2)
    assert told(home) == set()


def test_a_session_that_is_locked_shows_nothing_until_the_passphrase_is_given_and_goes_on(home, terminal):
    sealed_with(home, "passphrase")
    del home.env[sealing.VARIABLE]
    screen = terminal()
    screen.wait("passphrase of").type(PASSPHRASE + ENTER)
    screen.wait_prompt().enter("what about the Glottertal")
    screen.wait_prompt().enter("/lock")

    def is_locked():
        return "Glottertal" not in screen.text and "passphrase of" in screen.text

    screen.until(is_locked, "the lock")
    assert told(home) == set()
    screen.type("wrong" + ENTER).wait("that is not it; passphrase of").type(PASSPHRASE + ENTER)
    screen.wait("what about the Glottertal").wait_prompt().enter("/lock")
    screen.until(is_locked, "the lock")
    for times in (1, 2, 3):
        screen.wait("passphrase of", times).type("wrong" + ENTER)
    assert screen.ended() == 6


def test_a_session_locks_itself_when_nobody_types_and_asks_the_keyring_again(home, terminal):
    sealed_with(home, "keyring")
    home.env["AGENT_SEAL"] = "{lock_after = 0.01}"
    screen = terminal()
    screen.until(lambda: screen.text == "locked; Enter opens the file again", "the lock").type(ENTER)
    screen.until(lambda: screen.text.count("\n") > 1, "what stands above the prompt")
    screen.until(lambda: screen.text == "locked; Enter opens the file again", "the lock")
    Path(home.env["TEST_KEYRING"]).unlink()
    assert screen.type(ENTER).ended() == 6
    assert "its key is not in the keyring" in " ".join(screen.text.split())


def test_a_file_that_is_not_sealed_has_nothing_to_lock(home, terminal):
    screen = terminal().wait_prompt()
    screen.enter("/lock")
    screen.wait("the file is not sealed, so there is no key to ask for")
