"""Every exit code there is, from the real process. A script must be able to tell them apart."""

import signal
from subprocess import DEVNULL

import pytest

from agent_cli.store.db import Database
from tests.conftest import NOBODY
from tests.ollama_server import script

pytestmark = pytest.mark.usefixtures("scripts_decide")

SLOW = script.pieces(*(script.Piece(f"{n} ", delay=0.1) for n in range(200)))

CODES = {
    "an answer": (0, ["ask", "hi"], {}, []),
    "the model broke off": (1, ["ask", "hi"], {}, [script.reply("half", then=script.CUT)]),
    "facts wait": (1, ["facts", "review", "--check"], {}, []),
    "no code in the answer": (1, ["ask", "-x", "hi"], {}, []),
    "an unknown option": (2, ["ask", "--nope"], {}, []),
    "an unknown handle": (2, ["notes", "show", "n99"], {}, []),
    "a wrong setting": (2, ["ask", "hi"], {"AGENT_NUM_CTX": "many"}, []),
    "no server": (3, ["ask", "hi"], NOBODY, []),
    "no such model": (4, ["-m", "nope:1b", "ask", "hi"], {}, []),
    "too long for the context": (5, ["ask", "hi"], {}, [script.context_exceeded(9999, 8192)]),
    "no database": (6, ["ask", "hi"], {"AGENT_DB": "/dev/null/memory.db"}, []),
    "too slow": (7, ["ask", "--timeout", "0.3", "hi"], {}, [script.silence(60, script.reply("late"))]),
}
SIGNALS = {signal.SIGINT: 130, signal.SIGPIPE: 141, signal.SIGTERM: 143, signal.SIGHUP: 129}


@pytest.fixture
def program(program, server):
    return program.use(server)


@pytest.mark.parametrize("case", CODES)
def test_how_a_command_ends_is_told_by_its_code(program, server, case):
    code, arguments, env, played = CODES[case]
    if case == "facts wait":
        program("ask", "remember that my cat is called Mia")
    server.play(*played)
    assert program(*arguments, env=env).code == code


def test_traces_that_are_left_have_a_code_of_their_own(program):
    program("notes", "add", "the secret garden")
    other = Database(program.db)
    with other.snapshot():  # what was there before
        assert program("forget", "n1", "--yes").code == 8
    other.close()


@pytest.mark.parametrize("sent", SIGNALS, ids=lambda sent: sent.name)
def test_what_ended_an_answer_is_told_by_the_code(program, server, sent):
    server.play(SLOW)
    process = program.start("ask", "hi", stdin=DEVNULL)
    assert process.stdout.read(1) == "0"
    if sent == signal.SIGPIPE:
        process.stdout.close()
    else:
        process.send_signal(sent)
    process.wait(30)
    assert process.returncode == SIGNALS[sent]
    process.stderr.close()
    process.stdout.close()


def test_a_conversation_that_is_left_ends_well(program, terminal):
    assert terminal().wait_prompt().type("\x04").ended() == 0
