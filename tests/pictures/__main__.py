"""Play the session and write the pictures: `make pictures`."""

import tempfile
from pathlib import Path

from tests import pictures, warm


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, drawn in pictures.draw(Path(folder)).items():
            pictures.FOLDER.mkdir(exist_ok=True)
            (pictures.FOLDER / name).write_text(drawn, encoding="utf-8")
            print(f"{pictures.FOLDER / name}  {len(drawn.encode()):,} bytes")
    warm.close()


if __name__ == "__main__":
    main()
