from hypothesis import example, given
from hypothesis import strategies as some

from agent_cli.agent.draft import Citations, handles
from tests.tables import for_each

KNOWN = frozenset({"f12", "n4", "t4", "d12"})


def passed(text, size=10_000):
    cited = Citations(KNOWN)
    return "".join(cited.feed(text[n : n + size]) for n in range(0, len(text), size)) + cited.end()


@for_each(
    ("said", "shown"),
    [
        ("You live in Graz [f12].", "You live in Graz [f12]."),
        ("You live in Graz [f99].", "You live in Graz."),
        ("[f99] You live in Graz.", " You live in Graz."),
        ("Graz [f12, f99, n4] it is", "Graz [f12, n4] it is"),
        ("Graz [f99][f12]", "Graz[f12]"),
        ("In a file [d99], a task [t9] and a schedule [c9].", "In a file, a task and a schedule."),
        ("Due on Friday [t4, t9], says the file [d12].", "Due on Friday [t4], says the file [d12]."),
        ("`a [f99]` and a[n1] and [f99]", "`a [f99]` and a[n1] and"),
        ("```\nx [m1]\n```\n[m1] y", "```\nx [m1]\n```\n y"),
        ("~~~ py\nx [m1]\n```\n y ~~~ [f9]\n  ~~~~\n[m1] y", "~~~ py\nx [m1]\n```\n y ~~~ [f9]\n  ~~~~\n y"),
        ("```\n~~~\nx [m1]\n```\n[m1] y", "```\n~~~\nx [m1]\n```\n y"),
        ("so ~~~ no [m1] block", "so ~~~ no block"),
        ("an unclosed ` is over at the line's end\n [f99] so", "an unclosed ` is over at the line's end\n so"),
        ("[f] [12] [link](f99) [ f99", "[f] [12] [link](f99) [ f99"),
        ("ends with [f9", "ends with [f9"),
        ("NAS在地下室[f99]。路由器[f12]也是。[n9]", "NAS在地下室。路由器[f12]也是。"),
        ("In the cellar.[f99] Or [f12][f98][n4], not [f97][f96].", "In the cellar. Or [f12][n4], not."),
        (
            "[s3](https://a.b) ![s3](c.png) a[0][s3] m()[s3] [x][s3]",
            "[s3](https://a.b) ![s3](c.png) a[0][s3] m()[s3] [x][s3]",
        ),
        ("", ""),
    ],
)
def test_a_made_up_citation_is_left_out_and_a_real_one_stays(said, shown):
    assert passed(said) == shown


@example(text="`[f99]` and `[f1]1", size=1)
@given(text=some.text("ab `~\n[]()!f12n4,9", max_size=60), size=some.integers(1, 7))
def test_however_an_answer_is_cut_into_pieces_it_reads_the_same(text, size):
    assert passed(text, size) == passed(text)


def test_handles_are_those_that_stand_in_the_request():
    assert handles(["- f12, 3 May: x", "(s4) n7n8 m1"]) == {"f12", "s4", "m1"}
