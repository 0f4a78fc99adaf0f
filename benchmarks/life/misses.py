"""What went wrong, grouped by its cause, for those who mend it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from agent_cli.text import one_line
from benchmarks.life.days import Life
from benchmarks.life.ending import Dated
from benchmarks.life.judging import Asked
from benchmarks.life.times import Opened, Timed

WORDED = {"told": "in words that were told", "loosely": "loosely", "by meaning": "by meaning alone"}
_EACH = 6  # examples of a cause


def listed(
    life: Life,
    dated: Sequence[Dated],
    left: Mapping[str, int],
    right: Mapping[str, str],
    timed: Sequence[Timed],
    opened: Sequence[Opened],
) -> str:
    """All that went wrong, as Markdown. `right`: the verdicts that are right for a kind of question."""
    lines = [*_recalled(life.asked), *_small_talk(life), *_verdicts(life, right), "", "## Dates", ""]
    for each in (each for each in dated if not each.right):
        wrong = f"; says {', '.join(each.wrong)}" if each.wrong else ""
        lines.append(f"- {each.day} {each.matter}: {each.holds}{' is missing' if each.missing else ''}{wrong}")
    lines += ["", "## Traces", "", *(f"- {word}: {many}" for word, many in left.items() if many)]
    lines += ["", "## Times", "", *(f"- {each.question}: {each.days[:3]}" for each in timed if not each.right)]
    for each in (each for each in opened if not each.right):
        lines += ["", f"## Opening after {each.pause} days", "", *each.lines]
    return "\n".join(lines) + "\n"


def _recalled(asked: Sequence[Asked]) -> Iterator[str]:
    causes = defaultdict[str, list[Asked]](list)
    for each in asked:
        if not each.found or each.bad:
            causes[f"asked {WORDED[each.wording]}: {each.cause}"].append(each)
    for cause, some in sorted(causes.items(), key=lambda item: -len(item[1])):
        yield from ("", f"## {cause}: {len(some)}", "")
        for each in some[:_EACH]:
            truth = each.thing.truth(each.day)
            told = f"{truth.how} on day {truth.day} “{one_line(truth.words, 90)}”"
            yield f"- day {each.day} “{each.question}”; right: {told}"
            yield from (f"    - {judged}: {one_line(row.text, 110)}" for judged, row in each.rows)


def _small_talk(life: Life) -> Iterator[str]:
    yield from ("", "## Small talk", "")
    for words, said in life.small_talk:
        if said.recalled:
            yield f"- “{words}”: {' · '.join(one_line(row.text, 60) for row in said.recalled)}"


def _verdicts(life: Life, right: Mapping[str, str]) -> Iterator[str]:
    yield from ("", "## Verdicts", "")
    wrong = [(kind, verdict, question) for kind, question, verdict in life.verdicts if verdict not in right[kind]]
    for kind, verdict in sorted({(kind, verdict) for kind, verdict, _ in wrong}):
        some = sorted({question for *each, question in wrong if each == [kind, verdict]})
        yield f"- {kind}, but {verdict}: {' · '.join(some)}"
