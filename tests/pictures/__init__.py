"""The pictures of README and docs/session.md: a session in a real pseudo-terminal, drawn from what the program wrote.

`make pictures` plays it and writes docs/pictures; tests/test_pictures.py plays it again and compares.
"""

from pathlib import Path

from tests.pictures import svg, tour

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"


def draw(folder: Path) -> dict[str, str]:
    """Play the session in this folder; each picture by its file name."""
    shots = tour.play(folder)
    stills = {f"{shot.still}.svg": svg.still(tour.since_typed(shot)) for shot in shots if shot.still}
    return {"tour.svg": svg.moving([shot for shot in shots if shot.seconds]), **stills}
