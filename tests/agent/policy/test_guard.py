from agent_cli.agent.policy import Limits, fingerprint, reason_to_stop
from agent_cli.messages import ToolCall
from tests.tables import for_each


def call(name="read", id="1", **arguments):
    return ToolCall(id, name, arguments)


def test_the_same_arguments_in_another_order_are_the_same_call():
    assert fingerprint(call(a=1, b=2)) == fingerprint(call(id="2", b=2, a=1))
    assert len({fingerprint(each) for each in (call(a=1), call(a=2), call("write", a=1), call(a="1"), call())}) == 5


@for_each(
    ("made", "stops"),
    [
        ([], False),
        ([call(a=1)] * 2, False),
        ([call(a=1)] * 3, True),
        ([call(a=1), call(a=2), call(a=1), call(a=2), call(a=1)], False),
        ([call(a=2), *[call(a=1)] * 3], True),
        ([*[call(a=1)] * 2, call(a=2), call(a=1)], False),
    ],
)
def test_three_same_calls_in_a_row_are_enough(made, stops):
    why = "the same call of read was made 3 times in a row"
    assert reason_to_stop(made, Limits()) == (why if stops else "")


def test_arguments_that_no_utf8_holds_have_a_fingerprint():
    assert fingerprint(call(a="\ud800")) != fingerprint(call(a="?"))
