"""`agent schedule`: added, run when it is due, made up when it was missed, and installed, in processes of their own."""

import json
import shlex
import shutil
import signal
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import agent_cli
from agent_cli.cli import schedule
from agent_cli.errors import AgentError, Cancelled, UsageError
from agent_cli.llm.model import Cancel
from agent_cli.tools import registry
from tests.conftest import Ran
from tests.ollama_server import script
from tests.serving import wait_until
from tests.tables import for_each, listed

NOON = "2026-01-02T12:00:00+00:00"
NEXT = "2026-01-03T07:00:30+00:00"
LATER = "2026-01-05T09:00:00+00:00"
STOPPED = "agent: c1 “Say good morning” was stopped; it is made up at the next run\n"
NOBODY = "nothing runs schedules: `agent schedule install` has your machine do it, `agent schedule run` does"


@pytest.fixture
def program(program):
    program.env |= {"AGENT_NOW": NOON, "TZ": "UTC", "AGENT_LEARN": "off"}
    program.env["AGENT_MODEL"] = program.script('[[reply]]\nsay = "Good morning."\n')
    command(program, "crontab", "echo 'no crontab for someone' >&2; exit 1")  # never that of whoever runs the tests
    return program


def add(program, *more, cron="0 7 * * *", prompt="Say good morning"):
    ran = program("schedule", "add", cron, *(["--prompt", prompt] if prompt else []), *more)
    assert ran.code == 0, ran.err
    return ran


def due(program, now=NEXT, **env):
    return program("schedule", "run", "--due", env={"AGENT_NOW": now, **env})


def notes(program):
    return program.rows("select title, text, origin, place from note order by id")


def command(program, name, told):
    """A command of the machine that is a shell script."""
    folder = program.home / "bin"
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{told}\n")
    file.chmod(0o755)
    program.env["PATH"] = f"{folder}:/usr/bin:/bin"
    return file


def test_what_is_scheduled_runs_at_its_time_and_lands_as_a_note(program):
    told = "added c1 “Say good morning”: At 07:00 every day, next Sat 2026-01-03 07:00\n"
    assert add(program) == Ran(0, told, f"agent: {NOBODY}\n")
    assert due(program, NOON) == Ran(0, "", "agent: nothing is due\n")
    assert due(program) == Ran(0, "", "agent: c1 “Say good morning” → n1\n")
    assert due(program) == Ran(0, "", "agent: nothing is due\n")
    assert notes(program) == [("Say good morning, 2026-01-03", "Good morning.", "schedule", str(program.work))]
    assert program.rows("select kind, carried from (select kind, closed_at is null carried from session)") == [
        ("schedule", 0)
    ]
    assert program.rows("select role, text, parts from message") == [
        ("user", "Say good morning", '[["schedule", 16]]'),
        ("assistant", "Good morning.", '[["model", 13]]'),
    ]
    assert program.rows("select kind, actor, subject from event where kind like '%schedule%' or kind like 'note%'") == [
        ("schedule added", "person", "c1"),
        ("schedule begun", "program", "c1"),
        ("schedule run", "program", "c1"),
        ("note written", "schedule", "n1"),
    ]


def test_two_runners_at_once_run_it_once(program):
    program.env["AGENT_MODEL"] = program.script('[[reply]]\nwait = 0.5\nsay = "Good morning."\n')
    add(program)
    both = [program.start("schedule", "run", "--due", env={"AGENT_NOW": NEXT}) for _ in range(2)]
    said = sorted(process.communicate(timeout=30)[1] for process in both)
    assert said == ["agent: c1 “Say good morning” → n1\n", "agent: nothing is due\n"]
    assert [note[1] for note in notes(program)] == ["Good morning."]


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [(signal.SIGKILL, -9, ""), (signal.SIGTERM, 143, STOPPED), (signal.SIGINT, 130, f"{STOPPED}agent: stopped\n")],
)
def test_a_run_that_is_ended_in_the_middle_is_made_up(program, end, code, said):
    slow = program.script(
        '[[reply]]\ncalls = [{ name = "jot", arguments = { text = "x" } }]\n[[reply]]\nsay = "Good"\nwait = 30\n'
    )
    add(program)
    process = program.start("schedule", "run", "--due", env={"AGENT_NOW": NEXT, "AGENT_MODEL": slow})
    wait_until(lambda: program.rows("select 1 from message where role = 'tool'"))
    process.send_signal(end)
    assert process.communicate(timeout=30)[1] == said
    assert (process.returncode, notes(program)) == (code, [])
    program.env["AGENT_MODEL"] = program.script('[[reply]]\nsay = "Good morning."\n')
    assert due(program).err == "agent: c1 “Say good morning” → n1\n"


def test_the_answer_replaces_a_file_named_by_the_day(program):
    add(program, "--to-file", "~/briefings/%Y-%m-%d.md")
    file = program.home / "briefings" / "2026-01-03.md"
    assert due(program) == Ran(0, "", f"agent: c1 “Say good morning” → {file}\n")
    file.write_text("something else")
    assert program("schedule", "run", "c1", env={"AGENT_NOW": NEXT}).code == 0
    assert (file.read_text(), [each.name for each in file.parent.iterdir()]) == ("Good morning.\n", [file.name])
    assert (oct(file.stat().st_mode & 0o777), notes(program)) == ("0o600", [])


def test_a_command_gets_the_answer_and_all_words_behind_it_and_no_shell_reads_them(program):
    command(program, "sendmail", f'printf "%s|" "$@" > {program.home}/words; cat > {program.home}/mail')
    words = ["-t", "--model", "$(id); rm", "-q", "--db", "x", "-m", "y", "--", "--plain", "-h"]
    add(program, "--to-command", "sendmail", *words)
    assert due(program).err == "agent: c1 “Say good morning” → sendmail\n"
    assert (program.home / "words").read_text() == "".join(f"{word}|" for word in words)
    assert (program.home / "mail").read_text() == "Good morning.\n"
    assert program("schedule", "show", "c1", "--json").json["command"][1:] == words


def test_what_a_command_complains_of_is_kept_and_shown(program):
    command(program, "sendmail", "echo 'no route\033[31m to host' >&2; exit 75")
    add(program, "--to-command", "sendmail", "me@example.org")
    told = "sendmail ended with 75: no route[31m to host"
    assert due(program) == Ran(
        1, "", f"agent: c1 “Say good morning” failed: {told}\nagent: 1 of 1 failed; `agent schedule list` says why\n"
    )
    assert told in program("schedule", "list", env={"AGENT_NOW": NEXT}).out
    assert program("schedule", "run", "c1") == Ran(1, "", f"agent: {told}\n")


def test_a_model_that_does_not_answer_is_the_error_of_that_run(program):
    add(program, "--model", "qwen3:8b")
    ran = program("schedule", "run", "c1")
    assert (ran.code, "no model server" in ran.err) == (3, True)
    assert (notes(program), program.rows("select error <> '', next_at from schedule")) == (
        [],
        [(1, "2026-01-03T07:00:00.000Z")],
    )


def test_what_would_need_a_yes_is_refused_and_said(program):
    program.env["AGENT_MODEL"] = program.script(
        '[[reply]]\ncalls = [{ name = "save_note", arguments = { text = "secretly" } }]\n[[reply]]\nsay = "Done."\n'
    )
    add(program)
    told = "refused, as nobody can be asked: save_note (to allow it: agent config set rules.save_note allow)"
    assert due(program).err == f"agent: c1 “Say good morning” → n1 ({told})\n"
    assert [note[1] for note in notes(program)] == ["Done."]
    assert told in program("schedule", "list", env={"AGENT_NOW": NEXT}).out
    assert program.rows("select count(*) from event where kind = 'call refused'") == [(1,)]


def test_words_of_a_schedule_are_nobodys_own_and_are_read_for_no_facts(program):
    add(program, prompt="Remember that I live in Oslo.")
    due(program, AGENT_LEARN="ask")
    assert program.rows("select statement from fact") == []
    assert program.rows("select kind from job where kind in ('learn', 'reflect')") == []


@for_each(
    ("file", "command", "to_note", "told"),
    [
        ("a", [], True, "say one of"),
        ("a", ["cat"], False, "say one of"),
        ("a/", [], False, "is not a file"),
        ("~", [], False, "is not a file"),
        ("", ["no-such-thing"], False, "there is no command"),
        ("", [""], False, "there is no command"),
    ],
)
def test_a_target_that_cannot_be_is_refused(file, command, to_note, told):
    with pytest.raises(UsageError, match=told):
        schedule.choose(file, command, to_note)


def test_a_file_is_kept_absolute_and_a_command_by_its_whole_path(tmp_path, monkeypatch):
    (tmp_path / "100%m").mkdir()
    monkeypatch.chdir(tmp_path / "100%m")
    kind, pattern = schedule.choose("%Y.md", [], False)
    assert (kind, schedule.file_path(pattern, datetime(2026, 1, 2))) == ("file", tmp_path / "100%m" / "2026.md")
    assert schedule.choose("", ["sh", "-c", "x"], False) == ("command", json.dumps([shutil.which("sh"), "-c", "x"]))
    assert schedule.choose("", [], True) == schedule.choose("", [], False) == ("note", "")


def test_a_file_that_cannot_be_written_and_a_link_are_met(tmp_path):
    (tmp_path / "real.md").write_text("old")
    (tmp_path / "link.md").symlink_to("real.md")
    schedule.write_file(schedule.file_path(f"{tmp_path}/link.md", datetime(2026, 1, 2)), "new")
    assert ((tmp_path / "real.md").read_text(), (tmp_path / "link.md").is_symlink()) == ("new\n", True)
    with pytest.raises(AgentError, match=r"real\.md/under\.md cannot be written: (Not a directory|File exists)"):
        schedule.write_file(tmp_path / "real.md" / "under.md", "new")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.md", "real.md"]


def test_a_command_that_hangs_is_ended_with_all_it_started():
    with pytest.raises(AgentError, match=r"sh took longer than 0\.1 seconds, and was ended"):
        schedule.pass_to_command(["/bin/sh", "-c", "sleep 30 & wait"], "words", Cancel(), 0.1)
    stop = Cancel()
    threading.Timer(0.1, stop).start()
    with pytest.raises(Cancelled):
        schedule.pass_to_command(["/bin/sh", "-c", "sleep 30"], "words", stop)


def test_a_command_that_reads_nothing_of_a_long_answer_is_no_error():
    assert schedule.pass_to_command(["/bin/true"], "x" * 1_000_000, Cancel()) == "true"


def test_a_schedule_is_paused_hidden_and_brought_back(program):
    add(program)
    commands = listed("pause c1 | list | resume c1 | rm c1 | list --hidden | restore c1")
    said = [program("schedule", *words.split(), env={"AGENT_NOW": LATER}).out for words in commands]
    short, line = "c1 “Say good morning”", "c1  0 7 * * *  {}  Say good morning  not run yet\n"
    assert said == [
        f"paused {short} (agent schedule resume c1)\n",
        line.format("paused"),
        f"resumed {short}, next Tue 2026-01-06 07:00\n",
        f"hidden {short} (agent schedule restore c1)\n",
        line.format("Tue 2026-01-06 07:00"),
        f"restored {short}, next Tue 2026-01-06 07:00\n",
    ]


def test_in_the_foreground_it_waits_for_the_time_and_ends_in_order(program):
    del program.env["AGENT_NOW"]
    add(program, cron="0 0 1 1 *")
    program.rows("update schedule set next_at = ?", ((datetime.now(UTC) + timedelta(seconds=1.5)).isoformat(),))
    process = program.start("schedule", "run")
    lines = [process.stderr.readline() for _ in range(2)]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert lines == [
        "agent: running schedules when they are due; Ctrl-C stops it\n",
        "agent: c1 “Say good morning” → n1\n",
    ]
    assert (process.returncode, [note[1] for note in notes(program)]) == (143, ["Good morning."])


EXAMPLES = Path(agent_cli.__file__).parent / "examples"
WEATHER = "Vienna: light snow, -2 to 1 degrees.\n"
CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//someone//calendar//EN
BEGIN:VEVENT
UID:1
DTSTAMP:20260101T000000Z
DTSTART:20260103T140000Z
SUMMARY:Dentist
END:VEVENT
END:VCALENDAR
"""
NEWS = """<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>
<item><title>Bridge reopens</title><link>https://example.org/1</link></item></channel></rss>
"""
GATHERED = [
    *(("fetch_feed", {"name": name}) for name in ("weather", "calendar", "news")),
    ("list_tasks", {}),
    ("search_memory", {"grain": "day", "max_days_ago": 2}),
]


def test_the_morning_briefing_runs_offline_from_files_and_is_written_as_a_note(program, server):
    program.use(server)
    (program.home / "weather.txt").write_text(WEATHER)
    (program.home / "news.xml").write_text(NEWS)
    (program.home / "calendar.ics").write_text(CALENDAR.replace("\n", "\r\n"))
    settings = program.home / "config.toml"
    files = {"weather": "weather.txt", "calendar": "calendar.ics", "news": "news.xml"}
    settings.write_text("[feeds]\n" + "".join(f'{name} = "{program.home}/{file}"\n' for name, file in files.items()))
    program.env["AGENT_CONFIG"] = str(settings)
    assert program("skills", "add", "--example", "morning-briefing").out == (
        "k1 “morning-briefing” waits for your yes (agent skills review)\n"
    )
    refused = "k1 morning-briefing is pending: only a skill you said yes to can be run (agent skills review)"
    assert program("schedule", "add", "@daily", "--skill", "k1") == Ran(2, "", f"agent: {refused}\n")
    accepted = program.let_scripts_decide()("skills", "import", EXAMPLES, "--accept", "--yes")
    assert accepted.code == 0  # as the review does at a terminal
    add(program, "--skill", "morning-briefing", prompt="")
    briefing = "## Weather\nLight snow.\n\n## News\nBridge reopens."
    server.play(script.reply(calls=GATHERED), script.reply(briefing))
    assert due(program) == Ran(0, "", "agent: c1 “morning-briefing” → n1\n")
    assert notes(program) == [("morning-briefing, 2026-01-03", briefing, "schedule", str(program.work))]
    assert program.rows("select text from message where role = 'user'") == [
        ("Carry out the skill morning-briefing now.",)
    ]
    asked = next(request.body for request in server.requests if request.path == server.chat_path)
    system = asked["messages"][0]
    assert "1. Weather: `fetch_feed` with the name `weather`." in system["content"]
    assert "scheduled: morning-briefing" in program("sessions", "list").out
    given = program.rows("select tool, text, failed from message where role = 'tool' order by id")
    assert [tool for tool, _, _ in given] == ["fetch_feed"] * 3 + ["list_tasks", "search_memory"]
    if "fetch_feed" in registry.BUILT_IN:  # else the model is told that there is none, and the rest goes on
        told = zip(("light snow", "Dentist", "Bridge reopens"), given, strict=False)
        assert [(word in text, failed) for word, (_, text, failed) in told] == [(True, 0)] * 3


def test_the_briefing_ends_well_with_one_tool_call_a_round_within_the_rounds_of_the_setting(program, server):
    program.use(server)
    program.env["AGENT_CONFIG"] = str(program.home / "config.toml")
    program.let_scripts_decide()("skills", "import", EXAMPLES, "--accept", "--yes")
    add(program, "--skill", "morning-briefing", prompt="")

    def briefing(*options):
        server.play(*(script.reply(calls=[call]) for call in GATHERED), script.reply("Nothing is due."))
        return program("schedule", "run", "c1", *options).err

    assert briefing() == "agent: c1 “morning-briefing” → n1\n"
    results = program.rows("select text, failed from message where role = 'tool' order by id")
    assert results[-1] == ("nothing is known of that time", 0)
    assert program("config", "set", "schedule_rounds", "3").code == 0
    assert "the turn was ended: 3 rounds of tool calls were made" in briefing()


OWN = "7 * * * * /bin/true\n"


@pytest.fixture
def crontab(program):
    """A crontab that is a file."""
    file = program.home / "crontab"
    file.write_text(OWN)
    command(program, "crontab", f'case "$1" in -l) cat {file} ;; -) cat > {file}.new && mv {file}.new {file} ;; esac')
    command(program, "systemctl", "exit 1")
    return file


def test_a_line_for_cron_is_shown_written_once_and_taken_out(program, crontab):
    program.env["AGENT_EDITOR"] = "vi 100%"
    add(program)
    program.db = program.home / "per%cent dir" / "memory.db"
    program.db.parent.mkdir()
    install = ["--db", str(program.db), "schedule", "install"]
    assert program(*install).code == 2  # nobody can say yes here
    shown = program(*install, "--print").out
    assert crontab.read_text() == OWN
    for _ in range(2):
        assert program(*install, "--yes").code == 0
    own, line, *more = crontab.read_text().splitlines()
    assert (f"{own}\n", more, f"crontab:\n  {line}\n") == (OWN, [], shown)
    assert line.startswith("* * * * * env AGENT_BACKGROUND_JOBS=false ")
    words = shlex.split(line.removeprefix("* * * * * ").replace(r"\%", "%"), comments=True)
    run = words[words.index(sys.executable) + 1 :]
    assert run == ["-P", "-m", "agent_cli", "--db", str(program.db), "-q", "schedule", "run", "--due"]
    assert "AGENT_EDITOR=vi 100%" in words
    assert program("schedule", "list").err == ""
    refused = "agent: nothing was changed: say --yes, or run it at a terminal\n"
    assert program("schedule", "uninstall").err == refused
    assert program("schedule", "uninstall", "--yes").code == 0
    assert crontab.read_text() == OWN
    assert program("schedule", "list").err == f"agent: {NOBODY}\n"


def test_a_line_for_cron_is_shown_where_there_is_no_crontab(program):
    shown = program("schedule", "install", "--print", "--by", "crontab", env={"PATH": str(program.home / "nothing")})
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith("crontab:\n  * * * * * ")


def test_a_timer_of_systemd_is_written_and_started(program):
    calls = program.home / "calls"
    command(program, "systemctl", f'echo "$@" >> {calls}')
    units = program.home / ".config" / "systemd" / "user"
    program.env["AGENT_EDITOR"] = 'a "b" 100% \\'
    assert program("schedule", "install", "--yes").code == 0
    service = (units / "agent-cli-schedules.service").read_text()
    assert 'Environment="AGENT_EDITOR=a \\"b\\" 100%% \\\\"\n' in service
    assert (
        f'ExecStart="{sys.executable}" "-P" "-m" "agent_cli" "--db" "{program.db}" "-q" "schedule" "run" "--due"\n'
        in (service)
    )
    assert "OnCalendar=minutely\n" in (units / "agent-cli-schedules.timer").read_text()
    assert program("schedule", "uninstall", "--yes").code == 0
    assert list(units.iterdir()) == []
    assert calls.read_text().splitlines() == listed("""--user show-environment | --user daemon-reload
        --user enable --now agent-cli-schedules.timer | --user disable --now agent-cli-schedules.timer
        --user daemon-reload""")


def test_nothing_is_written_without_a_yes(program, terminal):
    asked = terminal("schedule", "install", "--by", "systemd", PATH=program.env["PATH"]).wait("type yes:")
    asked.enter("no").wait("nothing was changed")
    assert not (program.home / ".config" / "systemd").exists()


def test_the_runner_lets_reminders_run_the_persons_command_once(program, tmp_path):
    told = tmp_path / "told"
    tell = command(program, "tell", f'echo "$1" >> {told}')
    program("remind", "call the dentist in 1 minute", env={"AGENT_NOW": "2026-11-20T09:00:00+01:00"})
    later = {"AGENT_NOW": "2026-11-20T09:01:00+01:00", "AGENT_REMIND_COMMAND": f'["{tell}"]'}
    assert program("schedule", "run", "--due", env={**later, "AGENT_REMIND_COMMAND": "[]"}).code == 0
    assert [program("schedule", "run", "--due", env=later).code for _ in range(2)] == [0, 0]
    wait_until(lambda: told.exists() and told.read_text())
    assert told.read_text() == "call the dentist\n"
