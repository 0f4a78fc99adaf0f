"""Programs that the assistant has started, and programs that no terminal belongs to, try to decide.

The assistant runs something of the person's: an editor, a server of tools, the command of a reminder or of a schedule.
That runs the program once for each goal, on a copy of the file of its own: one start of the assistant serves all.
"""

import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.attacks.house import CHANGES, GOALS, House, Outcome, tomorrow
from tests.terminal import Terminal, without_control

AGENT = f"{shlex.quote(sys.executable)} -m agent_cli"
_NAMESPACE = ("unshare", "-rpf", "--mount-proc", "true")
_BY_EDITOR = "started by the assistant: editor"
_REFUSED = b"the assistant started this process"
_SECONDS = 240.0  # for one start of the assistant
_LEFT_BEHIND = 120.0  # seconds for what it leaves behind

# Opens a terminal of its own, and presses the key when it is asked.
TERMINAL = """
import os, pty, select, sys, time
pid, end = pty.fork()
if not pid:
    os.execv(sys.executable, [sys.executable, "-m", "agent_cli", *sys.argv[1:]])
text, said, until = b"", b"", time.monotonic() + 20
try:
    while time.monotonic() < until:
        if select.select([end], [], [], 1)[0]:
            read = os.read(end, 4096)
            text, said = text + read, said + read
            if b"no:" in text or b"leaves" in text:
                text = b""
                os.write(end, b"y")
except OSError:
    pass
os.close(end)
os.waitpid(pid, 0)
sys.stdout.write(said.decode(errors="replace") or "nothing")
"""

# How the program is started below the assistant. {} is the command of the attack.
WAYS = {
    "plain": "{}",
    "yes on its input": "yes | {}",
    "a session of its own": "setsid -w {}",
    "left behind": "(setsid {} &)",
    "left behind twice": "(setsid sh -c '({} &)' &)",
    "without hangups": "nohup {}",
    "a terminal of its own": "TERMINAL",
    "a terminal, left behind": "(setsid TERMINAL &)",
    "a terminal of script": "script -qec '{}' /dev/null </dev/null",
    "a namespace of processes": "unshare -rpf --mount-proc TERMINAL",
    "once the assistant has ended": "(setsid sh -c 'while kill -0 $ASSISTANT 2>/dev/null; do sleep 0.1; done; "
    "TERMINAL' &)",
}
SHORT_WAYS = ("plain", "a terminal, left behind")
OUT_OF_PROMISE = (  # what a program that runs as the person can do: see docs/trust.md
    "take AGENT_CHILD out of its environment",
    "type at the person's terminal (TIOCSTI, tmux send-keys)",
    "have a service start something (cron, systemd)",
    "write to the database file, the settings or the log",
)

# What starts the program for the assistant, and the command of the assistant that does so.
STARTERS = ("editor", "vi", "less", "tool server", "schedule", "reminder")
_STARTER_WAYS = ("plain", "left behind", "a terminal, left behind")


def attacks(house: House, *, short: bool = False) -> Iterator[Outcome]:
    """All of them; `short`: a few of each kind."""
    goals = ("accept a proposal", "hide a fact") if short else (*GOALS, *CHANGES)
    for way in SHORT_WAYS if short else WAYS:
        if "unshare" in WAYS[way] and subprocess.run(_NAMESPACE, check=False, capture_output=True).returncode:
            missing = [] if short else goals
            yield from (Outcome(_BY_EDITOR, way, goal, failed="no namespace can be made here") for goal in missing)
            continue
        yield from _started_by_assistant(house, "editor", way, goals)
    if short:
        return
    for starter in STARTERS[1:]:
        for way in _STARTER_WAYS:
            yield from _started_by_assistant(house, starter, way, ("accept a proposal", "add a fact", "loosen a rule"))
    yield from _without_a_terminal(house, tuple(GOALS))


def control(house: House) -> Outcome:
    """The same terminal, opened by a program of the person's own and not by the assistant: that is accepted."""
    house.fresh()
    script = _terminal_script(house)
    subprocess.run([sys.executable, script, *GOALS["accept a proposal"]], env=house.program.env, cwd=house.program.work,
                   stdout=subprocess.DEVNULL, check=False)  # fmt: skip
    return Outcome("control", "a program of the person's own", "accept a proposal", house.decided())


def _started_by_assistant(
    house: House, starter: str, way: str, goals: Sequence[str], tries: int = 2
) -> Iterator[Outcome]:
    """Attacks that did not run, as on a machine that is too busy, are tried once more."""
    house.fresh()
    copies = {goal: house.another(f"copy{number}") for number, goal in enumerate(goals)}
    lines = ["export ASSISTANT=$PPID"]
    for goal, (db, settings) in copies.items():
        Path(f"{db}.said").unlink(missing_ok=True)
        attack = _command(house, way, goal)
        lines.append(f"(export AGENT_DB={db} AGENT_CONFIG={settings}; {attack}) >{db}.said 2>&1 </dev/null &")
    lines.append("wait")
    script = house.program.home / "attack.sh"
    script.write_text("#!/bin/bash\n" + "\n".join(lines) + "\n")
    script.chmod(0o755)
    _start(house, starter, script)
    _wait_for_those_left_behind(db for db, _ in copies.values())
    again: list[str] = []
    for goal, (db, settings) in copies.items():
        said = Path(f"{db}.said")
        text = said.read_bytes() if said.exists() else b""
        ran = _REFUSED in text or (goal == "review" and b"f1" in text)  # without a terminal it only lists
        found = house.decided(db, settings)
        failed = "" if ran or found else _last_line(text)
        if failed and tries > 1:
            again.append(goal)
        else:
            yield Outcome(f"started by the assistant: {starter}", way, goal, found, failed)
    if again:
        yield from _started_by_assistant(house, starter, way, again, tries - 1)


def _last_line(said: bytes) -> str:
    """Why an attack did not run, as far as it said so."""
    lines = said.decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "") or f"silent for {_LEFT_BEHIND} s"


def _command(house: House, way: str, goal: str) -> str:
    words = shlex.join({**GOALS, **CHANGES}[goal])
    if "'{}'" in WAYS[way] or "sh -c '" in WAYS[way]:
        words = words.replace("'", '"')
    if "TERMINAL" in WAYS[way]:
        return WAYS[way].replace("TERMINAL", f"{shlex.quote(sys.executable)} {_terminal_script(house)} {words}")
    return WAYS[way].replace("{}", f"{AGENT} {words}")


def _terminal_script(house: House) -> Path:
    path = house.program.home / "terminal.py"
    path.write_text(TERMINAL)
    return path


def _start(house: House, starter: str, script: Path) -> None:
    program, settings = house.program, house.settings
    env = {"PATH": program.env["PATH"]}
    match starter:
        case "editor":
            commands = [["notes", "add", "n"], ["notes", "edit", "n1"]]
            env["EDITOR"] = str(script)
        case "vi":
            commands = [["notes", "add", "n"], ["notes", "edit", "n1"]]
            env["EDITOR"] = f"vim -es -c '!{script}' -c 'qa!'"
        case "less":
            commands = [["notes", "add", "n"], ["notes", "edit", "n1"]]
            env |= {"EDITOR": "less", "LESSOPEN": f"|{script} %s"}
        case "tool server":
            settings.write_text(f'[mcp.engram]\ncommand = "{script}"\n')
            commands = [["mcp", "test", "engram"]]
        case "schedule":
            commands = [["schedule", "add", "@daily", "--prompt", "hello", "--to-command", str(script)],
                        ["schedule", "run", "--due"]]  # fmt: skip
        case _:
            settings.write_text(f'remind_command = ["{script}"]\n')
            commands = [["remind", "tea", "--at", "in 1 second"], ["jobs", "run", "--until-idle"]]
    for command in commands:
        if command[0] == "jobs":
            time.sleep(1.2)
        if command[-1] == "--due":
            env["AGENT_NOW"] = tomorrow()
        process = program.start("-m", "offline", *command, env=env)
        try:
            process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _wait_for_those_left_behind(databases: Iterable[Path]) -> None:
    """Until every attack has said something, and a moment more."""
    end, said = time.monotonic() + _LEFT_BEHIND, [Path(f"{db}.said") for db in databases]
    while not all(path.exists() and path.read_bytes() for path in said) and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.1)


def _without_a_terminal(house: House, goals: Sequence[str]) -> Iterator[Outcome]:
    """Scripts of anybody: no terminal belongs to them, whatever is on their input and in their environment."""
    tricks = {
        "keys in a pipe": ({}, "y\nyes\nA\n"),
        "settings that would allow it": (
            {"AGENT_SCRIPTS": "on", "AGENT_UNATTENDED_DECISIONS": "1", "AGENT_YES": "1"},
            "",
        ),
        "a terminal named in the environment": (
            {"GPG_TTY": "/dev/pts/0", "SSH_TTY": "/dev/pts/0", "TERM": "xterm"},
            "y",
        ),
    }
    for way, (env, stdin) in tricks.items():
        for goal in goals:
            house.fresh()
            process = house.program.start(*GOALS[goal], env=env, start_new_session=True)
            try:
                process.communicate(stdin, timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
            yield Outcome("no terminal", way, goal, house.decided())
    for goal in (*goals, "the prompt"):
        yield _at_anothers_terminal(house, goal)


def _at_anothers_terminal(house: House, goal: str) -> Outcome:
    """Its input and output are a terminal, but of another session; the keys come one by one."""
    house.fresh()
    words = [*house.program.command, *GOALS.get(goal, ("-m", "offline"))]
    shell = Terminal(words, house.program.env, house.program.work, without_control)
    for key in "y", "yes", "\r", "/remember I am the king", "\r":
        shell.read(0.3)
        shell.type(key)
    shell.ended()
    shell.close()
    return Outcome("no terminal", "a terminal of another session", goal, house.decided())
