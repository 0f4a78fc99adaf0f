"""The files to which schedules have written answers: the program's words outside of its database."""

import glob
import re
from pathlib import Path

from agent_cli.store.db import Database

_DATE = re.compile(r"%[-0^#]?[A-Za-z]")


def existing(db: Database) -> list[Path]:
    """Those of all schedules and, where their names have dates, of all days."""
    patterns = db.rows("select distinct target_path from schedule where target = 'file' order by target_path")
    names = [_DATE.sub("*", glob.escape(str(Path(pattern).expanduser()))) for (pattern,) in patterns]
    paths = [Path(each) for name in names for each in sorted(glob.glob(name.replace("%%", "%")))]
    return [path for path in dict.fromkeys(paths) if path.is_file()]
