"""Two sessions and a runner of jobs on one file for a minute, the runner killed again and again: each effect once?"""

import tempfile
from pathlib import Path

from tests import crowd

SECONDS = 60


def run() -> bool:
    """Print what was found; whether nothing was lost or done twice."""
    with tempfile.TemporaryDirectory() as folder:
        found = crowd.run(Path(folder), SECONDS, seed=3)
    print(f"\ntwo sessions and a runner of jobs on one file for {SECONDS} s, the runner killed with -9")
    for name, many in (
        ("turns", found.turns),
        ("sessions closed", found.sessions),
        ("kills", found.kills),
        ("jobs", found.jobs),
        ("  times one was begun", found.begun),
        ("facts proposed", found.proposals),
        ("summaries of sessions", found.summaries),
    ):
        print(f"  {name:<34} {many:>6}")
    print(f"  lost, done twice or left           {len(found.wrong):>6}  {'NOT' if found.wrong else 'ok'}")
    for sentence in found.wrong[:20]:
        print(f"    {sentence[:200]}")
    return not found.wrong
