"""An answer that is stopped on its way, by Ctrl-C, a signal, a time limit or a lost reader: what came is kept."""

import signal
import sys
import time
from subprocess import DEVNULL

import pytest

from tests.conftest import Ran
from tests.e2e.test_server import ASKED, kept
from tests.ollama_server import script

pytestmark = pytest.mark.usefixtures("talking")

SLOW = script.pieces(
    script.Piece("one"), script.Piece(" two"), *(script.Piece(f" {n}", delay=0.1) for n in range(3, 200))
)
SILENT = script.silence(60, script.reply("late"))


@pytest.fixture
def ask(program, server):
    """Start asking "hi"; a process whose answer is on its way."""
    started = []

    def start(played, *options, **more):
        server.play(played)
        started.append(program.start("ask", *options, "hi", **{"stdin": DEVNULL, **more}))
        server.wait_for_chats(1)
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def ended(process):
    out, err = process.communicate(timeout=30)
    return Ran(process.returncode, out, err)


def seen(process, words):
    """Read its output until these words stand there."""
    read = ""
    while words not in read:
        read += process.stdout.read(1)
    return read


@pytest.mark.parametrize(
    ("sent", "code", "said"),
    [(signal.SIGINT, 130, "agent: stopped\n"), (signal.SIGTERM, 143, ""), (signal.SIGHUP, 129, "")],
    ids=["Ctrl-C", "SIGTERM", "SIGHUP"],
)
def test_a_signal_ends_the_answer_in_order_and_what_came_is_kept(ask, program, server, sent, code, said):
    process = ask(SLOW)
    read = seen(process, "one two 3")
    process.send_signal(sent)
    while sent != signal.SIGINT and process.poll() is None:  # `timeout` sends two, of which the second changes nothing
        process.send_signal(sent)
        time.sleep(0.002)
    ran = ended(process)
    out = read + ran.out
    assert (ran.code, ran.err) == (code, said)
    assert out.startswith("one two 3")
    assert out.count("\n") == 1
    assert out.endswith("\n")
    (asked, (role, text, ending)) = kept(program)
    assert (asked, role, ending) == (ASKED, "assistant", "cancelled")
    assert text.startswith(out.strip())
    server.wait_until(lambda: server.counters.cancelled == 1)
    server.wait_until_idle()


def test_a_signal_in_the_silence_before_the_answer_ends_it_at_once(ask, program, server):
    process = ask(SILENT)
    process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    assert ended(process).code == 143
    assert time.monotonic() - began < 10
    assert kept(program) == [ASKED]
    server.wait_until(lambda: server.counters.cancelled == 1)


def test_ctrl_c_with_json_is_an_error_object(ask):
    process = ask(SILENT, "--json")
    process.send_signal(signal.SIGINT)
    ran = ended(process)
    assert ran == Ran(130, '{"schema": 1, "error": {"code": "cancelled", "message": "stopped"}}\n', "")


def test_a_time_limit_ends_the_answer_and_what_came_is_kept(program, server):
    server.play(SLOW)
    ran = program("ask", "--timeout", "2", "hi")
    said = "agent: no whole answer within 2 s; what arrived is kept (--timeout)\n"
    assert (ran.code, ran.err) == (7, said)
    assert ran.out.startswith("one two")
    ((_, text, finish),) = kept(program)[1:]
    assert (text, finish) == (ran.out.strip(), "cancelled")
    server.wait_until(lambda: server.counters.cancelled == 1)


def test_a_time_limit_in_the_silence_before_the_answer_ends_it(program, server):
    server.play(SILENT)
    ran = program("ask", "--json", "--timeout", "0.3", "hi")
    assert (ran.code, ran.err, ran.json["error"]["code"]) == (7, "", "timeout")
    assert kept(program) == [ASKED]


def test_a_reader_that_has_gone_ends_the_answer_in_silence_and_what_came_is_kept(ask, program, server):
    process = ask(SLOW)
    assert process.stdout.read(3) == "one"
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(30) == 141
    (asked, (_, text, finish)) = kept(program)
    assert asked == ASKED
    assert (text[:7], finish) == ("one two", "cancelled")
    server.wait_until(lambda: server.counters.cancelled == 1)


@pytest.mark.parametrize(
    "arguments",
    [("doctor",), ("--version",), ("-q", "--help"), ("config", "show"), ("ask", "--json", "hi")],
    ids=" ".join,
)
def test_a_reader_that_was_never_there_is_met_in_silence(program, arguments):
    program.command = ["sh", "-c", '"$@" | true; exit 0', "sh", *program.command]
    ran = program(*arguments)
    assert "Traceback" not in ran.err
    assert "Exception" not in ran.err
    assert "BrokenPipe" not in ran.err


def test_errors_to_a_reader_that_has_gone_are_lost_in_silence(program):
    program.command = ["bash", "-c", 'set -o pipefail; "$@" 2>&1 | true', "sh", *program.command]
    assert program("-m", "nope:1b", "ask", "hi") == Ran(141, "", "")


def test_a_full_disk_behind_the_output_is_said(program, server):
    server.play(script.reply("Hello"))
    program.command = ["sh", "-c", 'exec "$@" >/dev/full', "sh", *program.command]
    said = "agent: the output cannot be written: no space is left on that disk\n"
    assert program("ask", "hi") == Ran(1, "", said)
    assert kept(program)[1][:2] == ("assistant", "Hello")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_disk_that_fails_is_no_terminal_that_has_gone(program):
    said = "agent: a file cannot be read or written: its disk reports an error\n"
    assert program("facts", "import", "/proc/self/mem") == Ran(1, "", said)


def test_every_word_is_on_disk_before_it_is_shown(ask, program):
    process = ask(SLOW)
    read = ""
    while len(read) < 40:
        read += process.stdout.read(1)
        ((text, finish),) = program.rows("select text, finish from message where role = 'assistant'")
        assert text.startswith(read)
        assert finish is None
    process.kill()
