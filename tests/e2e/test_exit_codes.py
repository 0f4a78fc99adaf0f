"""The exit codes, from the real process: a script must be able to tell them apart.

Those of signals are in test_stop.py, that of an erasure which left traces in test_forget.py.
"""

import pytest

from tests.conftest import NOBODY
from tests.ollama_server import script

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


@pytest.fixture
def program(program, server):
    return program.use(server)


def test_how_a_command_ends_is_told_by_its_code(program, server):
    program("ask", "remember that my cat is called Mia")
    for case, (code, arguments, env, played) in CODES.items():
        server.play(*played)
        assert program(*arguments, env=env).code == code, case


def test_a_conversation_that_is_left_ends_well(program, terminal):
    assert terminal().wait_prompt().type("\x04").ended() == 0
