"""The progress line: how far it is, how fast it goes, and what is left."""

import io

import pytest

from agent_cli.cli.output import ProgressLine


class Window(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """Draw steps at these seconds: (seconds, done); the lines that were drawn."""

    def draw(total, *steps):
        window, times = Window(), iter([seconds for seconds, _ in steps])
        monkeypatch.setattr("sys.stderr", window)
        monkeypatch.setenv("COLUMNS", "80")
        with ProgressLine(now=lambda: next(times)) as line:
            for _, done in steps:
                line.step("words", done, total, "passages")
        return [each for each in window.getvalue().split("\r\x1b[K") if each]

    return draw


def test_rate_and_time_left_are_told_after_a_second(shown):
    assert shown(9_000, (1, 0), (2, 1_500), (4, 4_500)) == [
        "words ░░░░░░░░░░░░ 0 of 9,000 passages",
        "words ██░░░░░░░░░░ 1,500 of 9,000 passages · 1,500 a second · 5 s left",
        "words ██████░░░░░░ 4,500 of 9,000 passages · 1,500 a second · 3 s left",
    ]


def test_long_times_are_told_in_minutes_and_hours_and_without_a_known_end_the_rate_alone(shown):
    assert shown(1_000, (1, 0), (11, 1))[-1].endswith(" · 6 a minute · 2 h 46 min left")
    assert shown(None, (1, 0), (3, 500))[-1] == "words 500 passages · 250 a second"


def test_it_is_drawn_a_few_times_a_second_and_at_the_end(shown):
    assert len(shown(400, *((1 + n / 1000, n) for n in range(401)))) == 5


def test_in_a_pipe_nothing_is_drawn(capsys):
    with ProgressLine() as line:
        line.step("words", 1, 2, "passages")
    assert capsys.readouterr().err == ""
