"""Reads files of various formats as blocks of text with their positions.

What cannot be read is reported as a sentence (UnreadableFile) for the list of documents; nothing here uses the
database. PDF needs a library of an extra, imported when such a file is read; HTML has a module of its own.
"""

import codecs
import os
import re
import stat
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from agent_cli.text import Pattern, without_surrogates
from agent_cli.values import frozen

MAX_SIZE = 20_000_000  # bytes of a file, characters of a PDF
MAX_HEADING = 400  # characters of a heading; a longer one is a paragraph
_SNIFFED = 8192
_EXTRA = "install it with: pip install 'agent-cli[documents]'"
UNREADABLE, NEEDS = (
    "it cannot be read",
    "it needs a package that is missing",
)  # errors that may disappear although the file is the same


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_MARKDOWN = _set(".md .markdown .mdown .mdx .mkd .qmd .rmd")
_HTML = _set(".html .htm .xhtml")
_CODE = _set(
    """.py .pyi .pyx .js .jsx .mjs .cjs .ts .tsx .java .kt .kts .scala .go .rs .c .h .cc .cpp .cxx .hpp .hh .cs .swift
    .m .mm .rb .php .pl .pm .lua .r .jl .sh .bash .zsh .fish .ps1 .sql .hs .ml .ex .exs .erl .clj .dart .zig .nim .vue
    .svelte .proto .tf .groovy .gradle .el .lisp"""
)
_NO_TEXT = _set(
    """.png .jpg .jpeg .gif .webp .bmp .ico .tif .tiff .heic .avif .psd .mp3 .m4a .wav .flac .ogg .opus .mp4 .mkv .avi
    .mov .webm .zip .gz .bz2 .xz .zst .7z .rar .tar .tgz .jar .whl .deb .rpm .dmg .iso .exe .dll .so .dylib .a .o .bin
    .class .pyc .pyo .wasm .ttf .otf .woff .woff2 .sqlite .sqlite3 .db .parquet .npy .npz .pkl .doc .docx .xls .xlsx
    .ppt .pptx .odt .ods .odp .epub .mobi .key .pages .numbers"""
)
_BYTE_ORDER_MARKS = (  # the longest first: UTF-32 begins like UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED_ENCODING = rb"(?i)(?:coding[:=]|charset=[\"']?|encoding=[\"'])\s*([-\w.]+)"
_GAP = Pattern(r"\n[ \t\f\v\xa0\n]*\n")


class UnreadableFile(Exception):
    """Why a file cannot be read, as a sentence without its name."""


@frozen
class Block:
    """A paragraph, heading (`level` from 1), fence or definition. `name`: what it defines."""

    line: int
    text: str
    level: int = 0
    page: int | None = None
    whole: bool = False  # must not be split
    name: str = ""


@frozen
class RawFile:
    """The bytes of a file with their hash."""

    size: int
    changed_ns: int
    hash: str
    data: bytes


def kind(path: str) -> str:
    """markdown, html, pdf, code or plain, by the file extension."""
    end = os.path.splitext(path)[1].lower()
    if end == ".pdf":
        return "pdf"
    return "markdown" if end in _MARKDOWN else "html" if end in _HTML else "code" if end in _CODE else "plain"


def read(path: str) -> RawFile:
    """The bytes of a file that may hold text. Raises UnreadableFile."""
    end = os.path.splitext(path)[1].lower()
    if end in _NO_TEXT:
        raise UnreadableFile(f"it is not text: {end} files are not read")
    try:
        # Not blocking, in case it is a pipe.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise UnreadableFile("it is not a file")
            if found.st_size > MAX_SIZE:
                raise UnreadableFile(
                    f"it is too large: {found.st_size / 1e6:.0f} MB, and at most {MAX_SIZE // 10**6} are read"
                )
            data = file.read(_SNIFFED)
            if end != ".pdf" and _is_binary(data):
                raise UnreadableFile("it is not text but binary")
            data += file.read(MAX_SIZE - len(data) + 1)
    except OSError as error:
        raise UnreadableFile(f"{UNREADABLE}: {error.strerror or 'the disk cannot be read'}") from error
    import hashlib  # 3 ms, and the start of a conversation reads no file

    return RawFile(found.st_size, found.st_mtime_ns, hashlib.sha256(data).hexdigest(), data)


def may_disappear(error: str) -> bool:
    """Whether the error may have disappeared although the file is the same."""
    return error.startswith(UNREADABLE) or (error.startswith(NEEDS) and find_spec("pypdf") is not None)


def decode(data: bytes) -> str:
    """Decode text by its byte order mark, as UTF-8, as the file declares, else as Windows-1252."""
    mark = next((name for begin, name in _BYTE_ORDER_MARKS if data.startswith(begin)), None)
    declared = re.search(_DECLARED_ENCODING, data[:1024])
    wide = _utf16_without_mark(data[:_SNIFFED])
    for name in (mark, wide, "utf-8", declared and declared[1].decode("ascii"), "cp1252", "latin-1"):
        try:
            text = data.decode(name) if name else None
        except (LookupError, ValueError):  # unknown encoding, or invalid in it
            continue
        if text is not None:
            return without_surrogates(text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " "))
    return ""


def pdf(data: bytes) -> tuple[str, list[Block]]:
    """(title, paragraphs with their pages) of a PDF. Raises UnreadableFile."""
    try:
        import pypdf  # an extra
    except ImportError as error:
        raise UnreadableFile(f"{NEEDS}, pypdf: {_EXTRA}") from error
    import io
    import logging  # pypdf logs warnings on standard error

    logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader = pypdf.PdfReader(io.BytesIO(data))
            if reader.is_encrypted and not _opens_without_password(reader):
                raise UnreadableFile("it is encrypted: save it once without a password, and add that")
            pages = list(_pages(reader))
            title = str((reader.metadata.title if reader.metadata else "") or "").strip()
    except (UnreadableFile, MemoryError):
        raise
    except Exception as error:  # the parser may raise anything
        raise UnreadableFile(f"it cannot be parsed as PDF ({type(error).__name__})") from error
    blocks = [
        block for number, words in pages for block in paragraphs(without_surrogates(words.replace("\0", " ")), number)
    ]
    if not blocks:
        raise UnreadableFile("it holds no text: a scanned PDF has to go through OCR first")
    return without_surrogates(title), blocks


def paragraphs(text: str, page: int | None = None, first: int = 1) -> Iterator[Block]:
    """Paragraphs separated by blank lines, with their line numbers."""
    start, line = 0, first
    for gap in _GAP.finditer(text):
        yield from _paragraph(text[start : gap.start()], line, page)
        line += text.count("\n", start, gap.end())
        start = gap.end()
    yield from _paragraph(text[start:], line, page)


def _paragraph(text: str, line: int, page: int | None) -> Iterator[Block]:
    begun = text.lstrip("\n")
    if begun.strip():
        yield Block(line + len(text) - len(begun), begun.rstrip(), page=page)


def _pages(reader: Any) -> Iterator[tuple[int, str]]:
    """(number, text) of each page. Raises UnreadableFile when that is too much: a small file can repeat a page a
    million times."""
    size = 0
    for number, page in enumerate(reader.pages, 1):
        words = page.extract_text() or ""
        size += len(words)
        if size > MAX_SIZE:
            raise UnreadableFile(f"it holds more than {MAX_SIZE:,} characters")
        yield number, words


def _opens_without_password(reader: Any) -> bool:
    """Whether it opens with an empty password; not without the package for decryption."""
    try:
        return bool(reader.decrypt(""))
    except Exception:
        return False


def _is_binary(data: bytes) -> bool:
    return (
        b"\0" in data
        and not _utf16_without_mark(data)
        and not any(data.startswith(mark) for mark, _ in _BYTE_ORDER_MARKS)
    )


def _utf16_without_mark(data: bytes) -> str | None:
    """The encoding of UTF-16 without a byte order mark, where nearly every other byte is zero; else None."""
    half = len(data) // 2
    if half >= 4 and b"\0" in data:
        if data[1::2].count(0) > 0.7 * half and data[::2].count(0) < 0.05 * half:
            return "utf-16-le"
        if data[::2].count(0) > 0.7 * half and data[1::2].count(0) < 0.05 * half:
            return "utf-16-be"
    return None
