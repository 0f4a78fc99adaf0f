"""The files to which schedules have written answers: the program's words outside of its database."""

import glob
import json
import re
from pathlib import Path

from agent_cli.store import meta
from agent_cli.store.db import Database

_DATE = re.compile(r"%[-0^#]?[A-Za-z]")
_OF_ERASED = "files of erased schedules"


def remember(db: Database) -> None:
    """Keep the paths of the files that there are, whatever becomes of their schedules."""
    meta.put(db, _OF_ERASED, json.dumps([str(path) for path in existing(db)]))


def existing(db: Database) -> list[Path]:
    """Those of all schedules, erased ones included, and, where their names have dates, of all days."""
    patterns = db.rows("select distinct target_path from schedule where target = 'file' order by target_path")
    names = [_DATE.sub("*", glob.escape(str(Path(pattern).expanduser()))) for (pattern,) in patterns]
    paths = [Path(each) for name in names for each in sorted(glob.glob(name.replace("%%", "%")))]
    remembered = [Path(each) for each in json.loads(meta.get(db, _OF_ERASED) or "[]")]
    return [path for path in dict.fromkeys([*paths, *remembered]) if path.is_file()]
