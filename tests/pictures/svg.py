"""Screens as SVG: one that stands, or several one after the other. A row that stands in several is written once.

The colours are those of the terminal's sixteen by name, and follow the reader's light or dark page. Where motion is not
wanted the moving picture stands at its last screen.
"""

from collections.abc import Iterable, Sequence
from html import escape

from tests.pictures.screen import COLUMNS, ROWS, Frame, Run
from tests.pictures.tour import Shot

_CELL, _ROW, _SIZE = 8.4, 18, 14  # width and height of a cell, and of the letters
_MARGIN, _BAR = 16, 34  # around the screen, and the height of the bar above it
_LIGHT = "--p:#fff;--b:#f6f8fa;--l:#d1d9e0;--t:#1f2328;--f:#59636e;--green:#116329;--red:#a40e26;--brown:#7d4e00;\
--cyan:#1b6e77;--blue:#0550ae;--magenta:#6639ba"
_DARK = "--p:#0d1117;--b:#161b22;--l:#30363d;--t:#e6edf3;--f:#9198a1;--green:#56d364;--red:#ff7b72;--brown:#e3b341;\
--cyan:#56d4dd;--blue:#79c0ff;--magenta:#d2a8ff"
_COLOURS = ("green", "red", "brown", "cyan", "blue", "magenta")
_STYLE = (
    f"svg{{{_LIGHT}}}@media(prefers-color-scheme:dark){{svg{{{_DARK}}}}}"
    f"text{{font:{_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:var(--t);white-space:pre}}"
    ".bold{font-weight:700}.faint{fill:var(--f)}.italics{font-style:italic}.underscore{text-decoration:underline}"
    + "".join(f".{name}{{fill:var(--{name})}}" for name in _COLOURS)
)


def still(shot: Shot) -> str:
    """A picture of one screen."""
    rows = _Rows()
    return _whole(rows, rows.drawn(shot.frame), len(shot.frame), shot.title)


def moving(shots: Sequence[Shot]) -> str:
    """A picture that shows the screens one after the other, and begins again."""
    rows, total, began = _Rows(), sum(shot.seconds for shot in shots), 0.0
    style, body = [], []
    for number, shot in enumerate(shots):
        start, end = 100 * began / total, 100 * (began + shot.seconds) / total
        began += shot.seconds
        shown = f"{start:.2f}%{{visibility:visible}}" + (f"{end:.2f}%{{visibility:hidden}}" if end < 100 else "")
        style.append(f"@keyframes f{number}{{{'0%{visibility:hidden}' if number else ''}{shown}}}")
        style.append(f"#f{number}{{animation:f{number} {total:g}s step-end infinite}}")
        body.append(f'<g class="f" id="f{number}">{_title(shot.title)}{rows.drawn(shot.frame)}</g>')
    calm = f".f{{animation:none!important}}#f{len(shots) - 1}{{visibility:visible}}"
    style.append(f".f{{visibility:hidden}}@media(prefers-reduced-motion:reduce){{{calm}}}")
    return _whole(rows, "\n".join(body), ROWS, "", "".join(style))


class _Rows:
    """The rows that are drawn, each once."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Run, ...], int] = {}

    def drawn(self, frame: Frame) -> str:
        numbers = [(at, self._numbers.setdefault(row, len(self._numbers))) for at, row in enumerate(frame) if row]
        return "".join(f'<use href="#r{number}" y="{at * _ROW}"/>' for at, number in numbers)

    def definitions(self) -> Iterable[str]:
        for row, number in self._numbers.items():
            yield f'<g id="r{number}">{"".join(map(_run, row))}</g>'


def _run(run: Run) -> str:
    looks = f' class="{" ".join(run.looks)}"' if run.looks else ""
    x, y = _MARGIN + run.column * _CELL, _BAR + _MARGIN + _SIZE
    return f'<text x="{x:g}" y="{y}" textLength="{len(run.text) * _CELL:g}"{looks}>{escape(run.text)}</text>'


def _title(words: str) -> str:
    return f'<text x="{_MARGIN + 62}" y="22" class="faint">{escape(words)}</text>'


def _whole(rows: _Rows, body: str, height: int, title: str, style: str = "") -> str:
    wide, high = round(2 * _MARGIN + COLUMNS * _CELL), _BAR + 2 * _MARGIN + height * _ROW
    dots = "".join(f'<circle cx="{_MARGIN + 6 + 18 * n}" cy="17" r="5" fill="var(--l)"/>' for n in range(3))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 {wide} {high}"',
            f'  width="{wide}" height="{high}">',
            f"<style>{_STYLE}{style}</style>",
            f'<rect x=".5" y=".5" width="{wide - 1}" height="{high - 1}" rx="8" fill="var(--p)" stroke="var(--l)"/>',
            f'<path d="M.5 {_BAR}v-26a8 8 0 0 1 8-8h{wide - 17}a8 8 0 0 1 8 8v26z" fill="var(--b)" stroke="var(--l)"/>',
            f"{dots}{_title(title) if title else ''}",
            f"<defs>{''.join(rows.definitions())}</defs>",
            f"{body}",
            "</svg>\n",
        ]
    )
