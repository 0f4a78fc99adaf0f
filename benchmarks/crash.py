"""`kill -9` at random moments of a conversation, 200 times: is anything lost that was acknowledged?"""

import tempfile
import time
from pathlib import Path

from tests import crash

ROUNDS = 200


def run() -> bool:
    """Print what was found; whether nothing was lost."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = crash.kill_rounds(Path(folder), ROUNDS, seed=2)
    met = not found.lost and not found.broken
    print(f"\nkill -9 at a random moment of `agent ask -c`, {time.monotonic() - began:.0f} s")
    print(f"  rounds                             {found.rounds:>6}")
    print(f"  questions that reached the server  {found.questions:>6}")
    print(f"  words that reached the screen      {found.words:>6}")
    print(f"  replies and calls cut open         {found.cut:>6}")
    print(f"  lost                               {len(found.lost):>6}  {'ok' if met else 'NOT'}")
    print(f"  integrity and going on             {'ok' if not found.broken else 'NOT':>6}")
    for sentence in [*found.lost, *found.broken][:20]:
        print(f"    {sentence[:200]}")
    return met
