import subprocess

import pytest

from agent_cli.memory.scope import place_of

REMOTE = "github.com/me/thing"


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / "deep" / "er").mkdir(parents=True)
    return folder


def with_remote(folder, url):
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text(
        f'[core]\n\tbare = false\n[remote "upstream"]\n\turl = x\n[remote "origin"]\n\turl = {url}\n\tfetch = +refs/*\n'
    )


def test_a_folder_outside_of_a_repository_is_its_own_place(project):
    assert place_of(project / "deep") == str(project / "deep")


def test_a_repository_without_remote_is_one_place(project):
    (project / ".git").mkdir()
    (project / ".git" / "config").write_text("[core]\n\tbare = false\n")
    assert [place_of(project), place_of(project / "deep" / "er")] == [str(project)] * 2


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("git@github.com:me/thing.git", REMOTE),
        ("https://github.com/me/thing", REMOTE),
        ("https://github.com/me/thing.git/", REMOTE),
        ("https://me:token@github.com/me/thing.git", REMOTE),
        ("ssh://git@github.com/me/thing.git", REMOTE),
        ("github.com:me/thing", REMOTE),
        ("ssh://git@host:2222/me/thing.git", "host:2222/me/thing"),
        ("/srv/git/thing.git", "/srv/git/thing"),
        ("file:///srv/git/thing.git", "/srv/git/thing"),
    ],
)
def test_clones_of_one_remote_are_one_place(project, url, place):
    with_remote(project, url)
    assert place_of(project / "deep") == place


@pytest.mark.parametrize(
    "config", [b"", b"\xff\xfe", b"no section\n", b'[remote "origin"]\n', b'[remote "origin"]\nurl\n']
)
def test_a_configuration_that_says_nothing_leaves_the_folder(project, config):
    (project / ".git").mkdir()
    (project / ".git" / "config").write_bytes(config)
    assert place_of(project / "deep") == str(project)


def test_a_remote_may_be_declared_in_several_sections(project):
    (project / ".git").mkdir()
    parts = (
        '[remote "origin"]\n\tprune = true',
        '[branch "x"]\n\turl = y',
        '[remote "origin"]\n\turl = git@h:me/thing',
    )
    (project / ".git" / "config").write_text("\n".join(parts))
    assert place_of(project / "deep") == "h/me/thing"


def test_a_worktree_is_the_place_of_its_repository(project, tmp_path):
    with_remote(project, "git@github.com:me/thing.git")
    (project / ".git" / "worktrees" / "other").mkdir(parents=True)
    (project / ".git" / "worktrees" / "other" / "commondir").write_text("../..\n")
    other = tmp_path / "other"
    other.mkdir()
    (other / ".git").write_text(f"gitdir: {project}/.git/worktrees/other\n")
    assert place_of(other) == REMOTE


@pytest.mark.parametrize("told", ["gitdir: /nowhere/at/all\n", "", "\x00"])
def test_a_link_that_leads_nowhere_is_no_repository(project, told):
    (project / ".git").write_text(told)
    assert place_of(project / "deep") == str(project / "deep")


def test_what_git_itself_writes_is_understood(project):
    try:
        subprocess.run(["git", "init", "-q"], cwd=project, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("git is not installed")
    subprocess.run(["git", "remote", "add", "origin", "git@github.com:me/thing.git"], cwd=project, check=True)
    assert place_of(project) == REMOTE
