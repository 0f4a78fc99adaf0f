import threading
from queue import Empty, SimpleQueue

import pytest

from agent_cli.agent.events import ApprovalNeeded, Noticed, Runner, TextArrived, TurnFailed
from agent_cli.errors import Cancelled, ModelFailed
from agent_cli.messages import ToolCall

CALL = ToolCall("1", "save_note", {"text": "milk"})
OTHER = ToolCall("2", "save_note", {"text": "bread"})


class Heard:
    """What a runner delivered, in order, up to None."""

    def __init__(self, work):
        self.queue = SimpleQueue()
        self.runner = Runner(work, self.queue.put)

    def next(self):
        return self.queue.get(timeout=20)

    def rest(self):
        return list(iter(self.next, None))


def test_events_come_in_order_and_then_none():
    heard = Heard(lambda cancel, approve: iter([Noticed("a"), TextArrived("b")]))
    assert heard.rest() == [Noticed("a"), TextArrived("b")]
    heard.runner.join(5)


@pytest.mark.parametrize("error", [ModelFailed("broke off"), KeyError("bug"), KeyboardInterrupt()])
def test_whatever_ends_the_work_is_delivered_and_not_lost_between_threads(error):
    def work(cancel, approve):
        yield TextArrived("half")
        raise error

    assert Heard(work).rest() == [TextArrived("half"), TurnFailed(error)]


def approving(cancel, approve):
    for call in (CALL, OTHER):
        yield Noticed(f"{call.arguments['text']}: {approve(call)}")


def test_a_question_waits_for_the_person_each_time_anew():
    heard = Heard(approving)
    first = heard.next()
    assert (type(first), first.call) == (ApprovalNeeded, CALL)
    first.answer(True)
    first.answer(True)  # a key pressed twice
    assert heard.next() == Noticed("milk: True")
    second = heard.next()
    assert second.call == OTHER
    with pytest.raises(Empty):
        heard.queue.get(timeout=0.05)
    second.answer(False)
    assert heard.rest() == [Noticed("bread: False")]


def test_cancelling_answers_an_open_question_with_no():
    heard = Heard(approving)
    heard.next()
    heard.runner.cancel()
    assert heard.next() == Noticed("milk: False")
    assert isinstance(heard.next(), ApprovalNeeded)
    assert heard.rest() == [Noticed("bread: False")]


def test_the_work_sees_that_it_is_cancelled():
    waiting = threading.Event()

    def work(cancel, approve):
        waiting.set()
        cancel.wait(5)
        yield Noticed("never")

    heard = Heard(work)
    waiting.wait(5)
    heard.runner.cancel()
    (failed,) = heard.rest()
    assert isinstance(failed.error, Cancelled)
