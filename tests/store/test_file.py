import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from agent_cli.errors import StoreError
from agent_cli.store import file, schema
from agent_cli.store.db import Database
from tests import warm
from tests.conftest import NOON

MOUNTS = r"""
22 1 252:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
31 22 0:26 / /mnt/share rw shared:2 - nfs4 host:/share rw,vers=4.2
32 22 0:27 / /mnt/my\040share rw - cifs //host/share rw
33 31 252:2 / /mnt/share/disk rw master:3 - ext4 /dev/vdb rw
34 22 0:28 / /mnt/host rw - 9p drvfs rw
35 22 0:29 / /mnt/guest rw - virtiofs tag rw
36 22 0:30 / /mnt/ssh rw - fuse.sshfs me@host: rw
37 22 0:31 / /mnt/twice rw - nfs host:/below rw
38 22 252:3 / /mnt/twice rw - xfs /dev/vdc rw
39 22 0:32 / /mnt/back\134slash rw - smb3 //host/share rw
40 22 0:33 / /mnt/nfs rw - tmpfs tmpfs rw
41 22 0:34 / /mnt/fuse rw - fuseblk /dev/sdb1 rw
"""


@pytest.fixture
def mounts(tmp_path):
    text = tmp_path / "mountinfo"
    text.write_text(MOUNTS.strip() + "\n")
    return text


@pytest.fixture
def path(tmp_path):
    return tmp_path / "made" / "for it" / "memory.db"


def mode(path):
    return oct(stat.S_IMODE(path.stat().st_mode))


def opened(path, **options):
    notices = []
    database = file.open_file(path, NOON, notices.append, **options)
    return database, notices


def test_folder_and_files_are_the_owners_alone(path):
    before = os.umask(0)
    try:
        database, notices = opened(path)
        database.execute("insert into meta values ('a', 'b')")
        modes = {each.name: mode(each) for each in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"memory.db": "0o600", "memory.db-wal": "0o600", "memory.db-shm": "0o600"}
    assert (mode(path.parent), notices) == ("0o700", [])
    database.close()


def test_a_file_others_could_read_is_closed_to_them_and_a_folder_that_was_there_is_left_alone(path):
    path.parent.mkdir(parents=True, mode=0o755)
    path.touch(0o644)
    opened(path)[0].close()
    assert (mode(path), mode(path.parent)) == ("0o600", "0o755")


ANOTHERS = "this database belongs to another program; name another file with --db"
NEWER = (
    f"a newer agent wrote this file (format {schema.VERSION + 1}, this program knows {schema.VERSION}); "
    "update agent-cli, or name another file with --db"
)
OURS = f"pragma application_id = {schema.APPLICATION_ID}; create table a (b)"


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("create table bookmark (url)", ANOTHERS),
        ("create view v as select 1", ANOTHERS),
        ("pragma application_id = 7", ANOTHERS),
        (f"{OURS}; pragma user_version = {schema.VERSION + 1}", NEWER),
    ],
)
def test_a_refused_file_keeps_its_bytes_its_mode_and_its_time(path, sql, said):
    path.parent.mkdir(parents=True)
    other = Database(path)
    other.execute(sql)
    other.close()
    path.chmod(0o644)
    before = path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns, os.listdir(path.parent)
    with pytest.raises(StoreError) as refused:
        opened(path)
    assert str(refused.value) == f"{path}: {said}"
    assert (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns, os.listdir(path.parent)) == before


def test_a_network_file_system_is_known_by_the_innermost_mount_also_through_a_link(mounts, tmp_path):
    link = tmp_path / "data"
    link.symlink_to("/mnt/share")
    for path, kind in {
        "/home/me/memory.db": "",
        "/mnt/share/memory.db": "nfs4",
        "/mnt/share/a/b/memory.db": "nfs4",
        "/mnt/shared/memory.db": "",
        "/mnt/share/disk/memory.db": "",
        "/mnt/my share/memory.db": "cifs",
        "/mnt/back\\slash/memory.db": "smb3",
        "/mnt/host/c/memory.db": "9p",
        "/mnt/guest/memory.db": "virtiofs",
        "/mnt/ssh/memory.db": "fuse.sshfs",
        "/mnt/twice/memory.db": "",
        "/mnt/nfs/memory.db": "",
        "/mnt/fuse/memory.db": "",
        link / "memory.db": "nfs4",
    }.items():
        assert (path, file.network_file_system(tmp_path / path, mounts)) == (path, kind)
    assert file.network_file_system(tmp_path / "memory.db", tmp_path / "missing") == ""  # no list of mounts


def test_on_a_network_the_journal_is_a_plain_one_and_told_once(path, tmp_path):
    mounts = tmp_path / "mountinfo"
    point = str(tmp_path / "made").replace(" ", r"\040")
    mounts.write_text(f"22 1 252:1 / / rw - ext4 /dev/vda1 rw\n31 22 0:26 / {point} rw - nfs4 host:/share rw\n")
    database, notices = opened(path, mounts=mounts)
    assert notices == [f"{path} is on a network file system (nfs4): journal mode DELETE, one writer at a time"]
    assert [database.value("pragma journal_mode"), database.another_connection().value("pragma journal_mode")] == [
        "delete"
    ] * 2
    assert os.listdir(path.parent) == ["memory.db"]
    database.close()


OPEN = """
import os, sys
from datetime import datetime
from pathlib import Path
from agent_cli.errors import StoreError
from agent_cli.store import file
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for path in map(Path, sys.argv[1:]):
    try:
        file.open_file(path, datetime.now().astimezone(), print)
    except StoreError as error:
        print(error)
"""


def test_what_may_not_be_written_or_looked_into_is_a_sentence_for_who_has_no_rights_of_the_superuser():
    with tempfile.TemporaryDirectory() as folder:
        everyones = Path(folder)
        everyones.chmod(0o755)
        for name, rights in (("closed", 0o555), ("locked", 0o000)):
            (everyones / name).mkdir()
            (everyones / name).chmod(rights)
        opened(everyones / "full.db")[0].close()
        (everyones / "empty.db").touch()
        for name in ("full.db", "empty.db"):
            (everyones / name).chmod(0o444)
        paths = [everyones / name for name in ("closed/a.db", "locked/deeper/a.db", "full.db", "empty.db")]
        ran = subprocess.run([sys.executable, "-c", OPEN, *paths], capture_output=True, text=True, timeout=30)
    assert (ran.returncode, ran.stderr) == (0, "")
    told = ran.stdout.splitlines()
    assert told[:2] == [
        f"{path}: the file cannot be created; check the permissions of its folder" for path in paths[:2]
    ]
    for path in paths[2:]:
        assert any(line.startswith(f"{path}: the database cannot be ") for line in told)


def test_a_folder_in_place_of_the_file_and_a_file_in_place_of_the_folder_is_a_sentence(tmp_path):
    (tmp_path / "data").touch()
    for place in (tmp_path, tmp_path / "data" / "memory.db"):
        with pytest.raises(StoreError, match=r"cannot be opened \(.*\); name another with --db"):
            opened(place)


BOTH = """
import sys
from datetime import datetime
from pathlib import Path
from agent_cli.store import file
sys.stdin.readline()
file.open_file(Path(sys.argv[1]), datetime.now().astimezone(), print).close()
"""


def test_programs_that_make_the_same_new_file_at_once_do_not_disturb_each_other(path):
    programs = [warm.python(BOTH, path) for _ in range(6)]
    for each in programs:
        each.stdin.write("go\n")
        each.stdin.flush()
    assert [(*each.communicate(), each.wait()) for each in programs] == [("", "", 0)] * 6
