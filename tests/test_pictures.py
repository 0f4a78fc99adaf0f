"""The pictures of README and docs/session.md show what the program of today draws."""

import re

from tests import pictures

_FILE_SIZE = re.compile(r"[\d.]+ kB read")  # which grows with the schema


def test_the_pictures_show_what_the_program_draws_today(tmp_path):
    drawn = pictures.draw(tmp_path)
    assert sorted(drawn) == sorted(path.name for path in pictures.FOLDER.iterdir())
    for name, wanted in drawn.items():
        found = (pictures.FOLDER / name).read_text(encoding="utf-8")
        assert _FILE_SIZE.sub("", found).split("<") == _FILE_SIZE.sub("", wanted).split("<"), f"{name}: make pictures"
        assert len(found.encode()) < 48_000
