"""Files in sections along their own structure, each with the line on which it begins."""

import io
import sys
import textwrap
import time

import pytest

from agent_cli.memory.documents import document_sections
from agent_cli.memory.documents.document_sections import UnreadableFile
from tests.tables import for_each


def cut(name, text):
    """(line, heading, text) of each section."""
    data = textwrap.dedent(text).encode() if isinstance(text, str) else text
    return [(piece.line, piece.heading, piece.text) for piece in document_sections.split(name, data)[1]]


def test_markdown_is_cut_at_its_headings():
    found = cut(
        "router.md",
        """\
        # Router
        In the cellar.

        ## Passwords #
        The admin is swordfish.

        Wi-Fi
        -----
        On the fridge.

        # Garden
        """,
    )
    assert found == [
        (2, "Router", "In the cellar."),
        (5, "Router › Passwords", "The admin is swordfish."),
        (9, "Router › Wi-Fi", "On the fridge."),
        (11, "router", "Garden"),  # with nothing below it, it stands for itself
    ]
    assert cut("a.md", "# A\n## B\n## C\n# D\nx") == [(2, "A", "B\n\nC"), (5, "D", "x")]


def test_front_matter_and_fences_stay_whole_and_hold_no_headings():
    fence = "```sh\n# no heading\n\nmake\n````"
    found = cut("a.md", f"---\ntitle: x\n# y\n---\n\n# Build\n\n{fence}\n\nafter\n")
    assert found == [(1, "a", "---\ntitle: x\n# y\n---"), (8, "Build", f"{fence}\n\nafter")]
    assert cut("a.md", "```\n# open to the end\n\nx") == [(1, "a", "```\n# open to the end\n\nx")]
    long = "~~~\n" + "x = 1\n\n" * 400 + "~~~"
    assert cut("a.md", long) == [(1, "a", long)]


def test_paragraphs_are_put_together_until_they_say_enough():
    paragraph = "word " * 60
    found = cut("a.txt", "\n\n".join([f"one\n{paragraph}", f"two {paragraph}", "three", *[f"{paragraph}"] * 4]))
    assert [(line, len(text) <= document_sections.MAX_SECTION) for line, _, text in found] == [(1, True), (10, True)]
    assert " ".join(" ".join(text.split()) for *_, text in found).count("word") == 60 * 6


def test_a_text_without_paragraphs_is_cut_at_ends_of_lines():
    found = cut("log.txt", "".join(f"line {n} {'x' * 70}\n" for n in range(1, 101)))
    assert [text.split()[1] for _, _, text in found] == [str(line) for line, _, _ in found]
    assert max(len(text) for *_, text in found) <= document_sections.MAX_SECTION
    assert sum(text.count("line") for *_, text in found) == 100


def test_code_is_cut_at_its_top_level_definitions():
    body = "    return 1\n" * 20
    found = cut(
        "shop.py", f'"""A shop."""\nimport os\n\n\n# Prices.\n@cache\ndef price(a):\n{body}\n\nclass Shop:\n{body}'
    )
    assert [(line, heading) for line, heading, _ in found] == [(1, "shop"), (5, "def price(a)"), (30, "class Shop")]
    assert found[1][2].startswith("# Prices.\n@cache\ndef price(a):")
    assert [heading for _, heading, _ in cut("a.rs", "use x;\n\npub fn run(a: u8) -> u8 {\n    1\n}\n")] == [
        "a",
        "pub fn run(a: u8) -> u8",
    ]
    assert [line for line, *_ in cut("a.c", "#include <x>\nint x;\n\nstatic int *sum(int a)\n{\n}\n")] == [1, 4]


def test_html_is_cut_at_its_headings_and_shows_what_a_reader_sees():
    title, pieces = document_sections.split(
        "page.html",
        b"""<html><head><title>House  book</title><style>p {}</style></head><body>
<h1>House</h1>
<p>The <b>key</b> is
 under the mat.<script>evil()</script></p><p hidden>unseen</p>
<h2>Roof</h2><ul><li>new</li><li>red</li></ul>
<pre>a
  b</pre><!-- no --></body></html>""",
    )
    assert title == "House book"
    assert [(piece.line, piece.heading, piece.text) for piece in pieces] == [
        (3, "House", "The key is under the mat."),
        (5, "House › Roof", "new\n\nred\n\na\n  b"),
    ]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig", "utf-8"])
def test_other_encodings_survive(tmp_path, encoding):
    file = tmp_path / "a.txt"
    file.write_bytes("Grüße aus Köln".encode(encoding))
    assert document_sections.decode(document_sections.read(str(file))) == "Grüße aus Köln"


def test_a_file_that_tells_its_encoding_is_believed():
    assert document_sections.decode("# coding: koi8-r\nпривет".encode("koi8-r")).endswith("привет")
    assert "日本" in cut("a.html", '<meta charset="shift_jis"><p>日本'.encode("shift_jis"))[0][2]
    assert document_sections.decode(b"coding: no-such\n\xff\x00") == "coding: no-such\nÿ "


def test_lines_are_counted_as_an_editor_counts_them():
    assert [line for line, *_ in cut("a.md", "# A\r\n\r\nx\x0c\u2028y\r\n\r\n# B\r\nz")] == [3, 6]


def pdf(*pages, password=""):
    """A PDF with these words on its pages, made without a library for making them."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    names = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    font = DictionaryObject({NameObject(key): NameObject(value) for key, value in names.items()})
    for words in pages:
        page = writer.add_blank_page(300, 300)
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({words}) Tj ET".encode() if words else b"")
        page[NameObject("/Contents")] = writer._add_object(stream)
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    if password:
        writer.encrypt(password, algorithm="RC4-40")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_pdf_keeps_its_pages():
    pieces = document_sections.split("lease.pdf", pdf("The rent is 900 euros", "", "Notice is three months"))[1]
    assert [(piece.page, piece.heading, piece.text) for piece in pieces] == [
        (1, "lease", "The rent is 900 euros"),
        (3, "lease", "Notice is three months"),
    ]


def test_a_pdf_that_cannot_be_read_is_told_why():
    for data, why in (
        (pdf("secret", password="x"), "encrypted"),
        (pdf(""), "OCR"),
        (b"%PDF-1.7\nnothing of the kind", "cannot be parsed as PDF"),
    ):
        with pytest.raises(UnreadableFile, match=why):
            document_sections.split("a.pdf", data)


def test_a_pdf_that_takes_too_long_is_ended_and_told_why():
    with pytest.raises(UnreadableFile, match=r"it takes more than 0.1 s to be read"):
        document_sections.split("a.pdf", pdf(*["word " * 2000] * 100), seconds=0.1)


@pytest.mark.parametrize(
    ("name", "text", "most"),
    [
        ("headings.md", "".join(f"# Heading {n}\n" for n in range(30_000)), 6_000),
        ("line.txt", "some words. " * 100_000, 1_500),
        ("page.html", f"<p>{'some words ' * 100_000}", 1_500),
        ("blank.txt", "\n" * 2_000_000 + "x", 1),
        ("code.py", "def f(): pass\n" * 30_000, 6_000),
    ],
    ids=["headings", "line", "page", "blank", "code"],
)
def test_a_long_file_takes_little_time_and_few_sections(name, text, most):
    begun = time.process_time()
    pieces = document_sections.split(name, text.encode())[1]
    assert 0 < len(pieces) <= most
    assert max(len(piece.text) for piece in pieces) <= 2 * document_sections.MAX_SECTION
    assert time.process_time() - begun < 2.5


def test_a_file_of_too_many_sections_is_not_read(monkeypatch):
    monkeypatch.setattr(document_sections, "_MAX_SECTIONS", 1000)
    with pytest.raises(UnreadableFile, match="more than 1,000 sections"):
        document_sections.split("a.md", b"# h\nx\n" * 1001)


def test_without_the_libraries_other_kinds_still_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(UnreadableFile, match=r"pip install 'agent-cli\[documents\]'"):
        document_sections.split("a.pdf", b"%PDF")
    assert cut("a.md", "x") == cut("a.html", "<p>x") == [(1, "a", "x")]


@for_each(
    ("name", "words"),
    [
        ("a.txt", " " * 200_000),
        ("a.md", "# " + "a " * 100_000 + "#"),
        ("b.md", "\n \t" * 50_000 + "x"),
        ("a.c", "a" + "&" * 10_000 + "\n" + "int " * 90 + "x"),
    ],
)
def test_what_is_made_to_be_slow_is_not(name, words):
    begun = time.process_time()
    assert 0 < len(cut(name, f"{words}\nend")) < 200
    assert time.process_time() - begun < 1.0


@for_each("piece", ["<!--", "<![CDATA[", "<?", "</", "<a", "<div>x", "<b>"])
def test_a_page_made_to_take_for_ever_takes_seconds(piece):
    begun = time.process_time()
    document_sections.split("page.html", f"<p>Rain</p>{piece * 8_000}".encode())
    assert time.process_time() - begun < 2.0


def test_what_is_begun_and_not_ended_hides_nothing_of_a_page():
    _, pieces = document_sections.split("page.html", b"<p>Rain <!-- no --> today</p><p>4 < 5 <!-- and snow")
    assert [piece.text for piece in pieces] == ["Rain today\n\n4 < 5 <!-- and snow"]


def test_a_tag_may_end_with_the_next():
    assert cut("page.html", "<p>x" * 1_001)[0][2][:4] == "x\n\nx"  # tags that end with the next
