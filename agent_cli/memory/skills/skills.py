"""The skills: how they are read, added, proposed, accepted, changed and restored; and their files. What the person
writes is accepted at once; what a model or a file proposes waits. A change is a proposal of its own; accepting it makes
its text the next version. The text is a SKILL.md in the open format, front matter and steps, stored character by
character. In its folder lie others in references, scripts and assets: these are reviewed, versioned and forgotten with
it, and only ever shown. The program runs no script."""

import json
import os
import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from agent_cli import atomic_file, clock, limits
from agent_cli.errors import StoreError, UsageError
from agent_cli.memory import lineage, tombstones
from agent_cli.memory.language import keywords, languages, secrets, terms
from agent_cli.memory.proposals import ACCEPTED, PENDING, MemoryContext, Proposals, Proposed, Version
from agent_cli.memory.search import candidates, index, vectors
from agent_cli.messages import Origin
from agent_cli.store import events, ids
from agent_cli.store.db import Database, IndexDamaged
from agent_cli.text import Pattern, one_line, visible
from agent_cli.values import frozen

MERGED = "merged"  # the state of a proposal to change a skill that was accepted
FILE_NAME = "SKILL.md"
LONGEST = 20_000  # characters of a skill; a small model cannot follow more
_MAX_BYTES = 4 * LONGEST  # bytes
FOLDERS = ("references", "scripts", "assets")  # beside a SKILL.md, whose files belong to the skill
_BYTES = "base64"  # key of the content of a file that is no text
_MOST_FILES, _MOST_BYTES = 100, 1_000_000  # of one skill beside its SKILL.md
_EXAMPLES = Path(__file__).parents[2] / "examples"  # skills that come with the program, not installed by default
_MAX_FRONT = 5_000  # characters of the front matter, which are read in less than a second, whatever they are
_NAME, _DESCRIPTION = 64, 1024  # characters, the limits of the format
_FRONT = Pattern(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_HANDLE = Pattern(r"k?\d+")  # no name may look like a handle: `agent skills rm k3` must be unambiguous
_SHAPE = Pattern(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@frozen
class SkillFile:
    name: str
    description: str  # what it does and when to use it, on one line
    body: str  # the steps
    text: str  # the whole file

    @property
    def invisible_count(self) -> int:
        """How many characters no screen shows. They are never given to a model: nobody could approve them."""
        words = self.text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        return len(words) - len(visible(words))


def parse(text: str) -> SkillFile:
    """The parts of a file. Raises UsageError with what is wrong."""
    if len(text) > LONGEST:
        raise UsageError(f"a skill has at most {LONGEST} characters, and this has {len(text)}")
    if "\0" in text:
        raise UsageError("a skill is text, and this holds a zero byte")
    front = _FRONT.match(text)
    if front is None:
        raise UsageError("a skill begins with a line ---, then name: and description:, then another line ---")
    values = _front_matter(front[1])
    name, described = values.get("name"), values.get("description")
    description = _clean_description(described) if isinstance(described, str) else ""
    if not (isinstance(name, str) and name and description):
        raise UsageError("the front matter of a skill must have a name and a description, both texts")
    if not body(text):
        raise UsageError("a skill needs steps: write them below its front matter")
    return SkillFile(check_name(name), description, body(text), text)


def body(text: str) -> str:
    """The steps of a valid file, without parsing its front matter."""
    return _FRONT.sub("", text, 1).strip()


def compose(name: str, description: str, body: str) -> str:
    """The text of a new file. Raises UsageError like `parse`."""
    import yaml  # few starts of the program read or write a skill

    values = {"name": check_name(name), "description": _clean_description(description)}
    front = yaml.safe_dump(values, allow_unicode=True, sort_keys=False, width=1000)
    return parse(f"---\n{front}---\n\n{body.strip()}\n").text


def check_name(name: str) -> str:
    """The name, stripped. Raises UsageError when the format does not allow it."""
    name = name.strip()
    if len(name) > _NAME or not _SHAPE.fullmatch(name):
        needed = f"use lower-case letters, digits and single hyphens, at most {_NAME}, as in deploy-site"
        raise UsageError(f"{one_line(name, 70)!r} is not a valid name of a skill: {needed}")
    if _HANDLE.fullmatch(name):
        raise UsageError(f"{name!r} is the form of a handle: give the skill a name in words")
    return name


def _clean_description(description: str) -> str:
    line = " ".join(visible(description).split())
    if len(line) > _DESCRIPTION:
        raise UsageError(f"the description of a skill has at most {_DESCRIPTION} characters, and this has {len(line)}")
    return line


def _front_matter(words: str) -> dict[str, Any]:
    import yaml

    if len(words) > _MAX_FRONT:
        raise UsageError(f"the front matter of a skill has at most {_MAX_FRONT} characters, and this has {len(words)}")
    try:
        values = yaml.load(words, Loader=yaml.BaseLoader)  # every value stays text: no dates, tags or merges
    except RecursionError as error:
        raise UsageError(f"the front matter of the skill cannot be read: {limits.TOO_DEEP}") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        where = getattr(error, "problem_mark", None)
        line = f" (line {where.line + 2})" if where else ""
        raise UsageError(f"the front matter of the skill is not YAML{line}: quote a text with a colon in it") from error
    if not isinstance(values, dict):
        raise UsageError("the front matter of a skill must have lines name: and description:")
    return values


@frozen
class Skill(Proposed):
    kind = "skill"
    id: int
    owner: str
    name: str
    description: str
    text: str
    files: str  # JSON
    version: int
    state: str
    target_id: int | None
    base: int | None
    origin: str
    trust: str
    session_id: int | None
    at: str
    utc_offset: int
    changed_at: str
    decided_at: str | None
    hidden_at: str | None

    @property
    def body(self) -> str:
        return body(self.text)

    def describe(self) -> dict[str, Any]:
        shown = {key: value for key, value in asdict(self).items() if key not in ("owner", "target_id", "utc_offset")}
        changes = ids.handle("skill", self.target_id) if self.target_id else None
        return shown | {"files": list(json.loads(self.files)), "id": self.handle, "changes": changes}


def named(db: Database, owner: str, name_or_handle: str, *, hidden: bool = False) -> Skill:
    """The skill of a name or handle; of several an accepted (with `hidden` a hidden) one. Raises UsageError."""
    where = """owner = ? and name = ? and (state = 'pending' and hidden_at is null or state = 'accepted')
               order by state = 'accepted' and (hidden_at is not null) = ? desc, state, id desc limit 1"""
    if found := SKILLS.select(db, where, (owner, name_or_handle.strip(), hidden)):
        return found[0]
    try:
        return get(db, ids.number("skill", name_or_handle), owner)
    except UsageError as error:
        raise UsageError(f"there is no skill {name_or_handle!r}; `agent skills list` shows them all") from error


def called(db: Database, owner: str, name: str) -> Skill | None:
    """The accepted skill of this name."""
    where = "owner = ? and name = ? and state = 'accepted' and hidden_at is null limit 1"
    return next(iter(SKILLS.select(db, where, (owner, name))), None)


def beginning_with(db: Database, owner: str, start: str, limit: int) -> list[tuple[str, str]]:
    """(name, description) of the skills in force whose name begins so, by name, without reading their texts."""
    query = """select name, description from skill where owner = ?1 and state = 'accepted' and hidden_at is null
               and name >= ?2 and name < ?2 || char(1114111) order by name limit ?3"""
    return db.rows(query, (owner, start, limit))


def listing(
    db: Database, owner: str, limit: int = -1, *, states: Sequence[str] = (ACCEPTED,), hidden: bool = False
) -> list[Skill]:
    where = f"""owner = ? and state in (select value from json_each(?))
                and hidden_at is {"not null" if hidden else "null"} order by name, id limit ?"""
    return SKILLS.select(db, where, (owner, states, limit))


def former(db: Database, skill: Skill) -> list[Version]:
    """The former versions of an accepted skill, the oldest first."""
    history = SKILLS.history(db, skill.id)
    found = {each.was["version"]: each for each in history if each.was.get("state") == ACCEPTED}
    return [each for number, each in sorted(found.items()) if number != skill.version]


def add(memory: MemoryContext, text: str) -> Skill:
    """Add a skill that the person wrote or approved. Raises UsageError when its name is taken."""
    file = parse(text)
    with memory.db.write():
        if called(memory.db, memory.scope.owner, file.name):
            raise UsageError(f"there is a skill {file.name} already; `agent skills edit {file.name}` changes it")
        return _insert(memory, file, ACCEPTED, "added", origin="typed", trust="typed")


def propose(
    memory: MemoryContext,
    text: str,
    *,
    origin: Origin = "model",
    trust: str = "",
    session: int | None = None,
    base: int | None = None,
    files: str | None = None,
) -> Skill | None:
    """Queue a skill, or a change to one made from version `base`; None when it is known, was rejected or forgotten.
    Raises UsageError. `files`: JSON; None: those of the known skill."""
    file = parse(secrets.mask(text) if origin == "model" else text)
    db, owner = memory.db, memory.scope.owner
    with db.write():
        known = called(db, owner, file.name)
        files = files or (known.files if known else "{}")
        same = """select 1 from skill where owner = ? and text = ? and files = ? and state <> 'expired'
                  and (state <> 'merged' or ? = 'model') limit 1"""  # the person may propose a former version again
        if tombstones.contains(db, file.text, owner) or db.value(same, (owner, file.text, files, origin)):
            return None
        target, version = (known.id, known.version) if known else (None, None)
        sources = {"origin": origin, "trust": trust or origin, "session_id": session, "files": files}
        return _insert(memory, file, PENDING, "proposed", target_id=target, base=base or version, **sources)


def accept(memory: MemoryContext, skill: Skill) -> Skill:
    """The person accepts a proposal; returns the skill as it is then. Raises UsageError when it is not pending."""
    with memory.changing() as memory:
        proposal = SKILLS.require_pending(memory.db, skill)
        target = called(memory.db, skill.owner, proposal.name)
        if target is None and proposal.target_id:  # the skill that it changes has another name
            found = many(memory.db, [proposal.target_id], proposal.owner)
            target = next((each for each in found if each.is_accepted), None)
        decided = {"state": MERGED if target else ACCEPTED, "decided_at": clock.utc(memory.time())}
        changed = change(memory, proposal, "accepted", target_id=target.id if target else None, **decided)
        if target is None:
            return changed
        source = {name: getattr(proposal, name) for name in ("session_id", "origin", "trust", "files")}
        return _reword(memory, target, "changed", parse(proposal.text), **source)


def import_skill(memory: MemoryContext, words: str, files: str = "{}", *, accepted: bool = False) -> Skill | None:
    """Import a skill with its files, or a change to one; None when it says nothing new. Raises UsageError."""
    with memory.db.write():
        proposal = propose(memory, words, origin="file", files=files)
        if not accepted:
            return proposal
        waiting = pending(memory.db, memory.scope.owner)
        proposal = proposal or next((each for each in waiting if (each.text, each.files) == (words, files)), None)
        return accept(memory, proposal) if proposal else None


def edit(memory: MemoryContext, skill: Skill, text: str) -> Skill:
    """Change the text to what the person typed. Raises UsageError like `add`, and when it was changed meanwhile."""
    file = parse(text)
    with memory.db.write():
        now = get(memory.db, skill.id, skill.owner)
        if (now.text, now.state, now.hidden_at) != (skill.text, skill.state, skill.hidden_at):
            raise UsageError(f"{skill.handle} was changed meanwhile, and was left as it is now; look at it again")
        return _reword(memory, now, "edited", file)


def restore(memory: MemoryContext, skill: Skill, version: int | None = None) -> Skill:
    """Show a hidden skill again, or restore an older version. Raises UsageError when there is no such version."""
    with memory.db.write():
        now = get(memory.db, skill.id, skill.owner)
        if version is None or version == now.version:
            return change(memory, now, "restored", hidden_at=None)
        for older in (each.was for each in former(memory.db, now) if each.was["version"] == version):
            files = older.get("files", "{}")
            return _reword(memory, now, "restored", parse(older["text"]), files=files, hidden_at=None)
        raise UsageError(f"{now.name} has no version {version}; `agent skills show {now.name} --versions` lists them")


def erase(db: Database, skill_ids: Sequence[int]) -> None:
    index.erase(db, "k", skill_ids)
    SKILLS.drop_versions(db, skill_ids, "skill_id")
    SKILLS.clear(db, "target_id", skill_ids, target_id=None)
    db.execute("update skill set target_id = null where target_id in (select value from json_each(?))", (skill_ids,))
    lineage.delete(db, "skill", skill_ids)


def write(db: Database, id: int, **columns: Any) -> None:
    """Write columns without recording their former values. Runs in the caller's transaction."""
    if "text" in columns:
        index.erase(db, "k", [id])  # needs the former words
    db.update("skill", id, columns)


def settle_merged(memory: MemoryContext, found: Sequence[int]) -> None:
    """Of skills with one name, of which some came from another machine, the one that changed last counts; the others
    are hidden. Runs in the caller's transaction."""
    query = """select o.id from skill s join skill o on o.owner = s.owner and o.name = s.name
               where s.id = ? and s.state = 'accepted' and s.hidden_at is null
                 and o.state = 'accepted' and o.hidden_at is null order by o.changed_at desc, o.uid desc"""
    for id in found:
        for other in memory.db.column(query, (id,))[1:]:
            skill = get(memory.db, other, memory.scope.owner)
            SKILLS.change(memory, skill, "hidden", actor="program", hidden_at=clock.utc(memory.time()))


def _reword(memory: MemoryContext, skill: Skill, change_: str, file: SkillFile, **others: Any) -> Skill:
    """Change a skill to what a file says: of an accepted one that is its next version."""
    words = {"text": file.text, "name": file.name, "description": file.description}
    return change(memory, skill, change_, version=skill.version + (skill.state == ACCEPTED), **words, **others)


def _insert(memory: MemoryContext, file: SkillFile, state: str, change: str, **columns: Any) -> Skill:
    now, actor = memory.time(), "model" if columns["origin"] == "model" else "person"
    columns |= {"name": file.name, "description": file.description, "text": file.text, "state": state}
    columns |= {"at": clock.utc(now), "utc_offset": clock.offset(now), "changed_at": clock.utc(now)}
    return SKILLS.insert(memory, change, actor=actor, **columns)


def _write(memory: MemoryContext, skill: Skill, values: Mapping[str, Any]) -> None:
    """Write columns, and the time. Raises UsageError when another skill would have the same name."""
    after = replace(skill, **values)
    if after.is_accepted and (other := called(memory.db, after.owner, after.name)) and other.id != after.id:
        raise UsageError(f"there is another skill {other.name} meanwhile, {other.handle}: hide that first")
    write(memory.db, skill.id, **{"changed_at": clock.utc(memory.time()), **values})


SKILLS = Proposals(
    Skill,
    text="text",
    list_command="agent skills list",
    of_session="session_id = ?2",
    max_pending=10,
    fixed=("id", "owner", "at", "utc_offset"),
    changed_since="{0} was changed since, and stays as it is",
    write=_write,
)
get, many, pending, change = SKILLS.get, SKILLS.many, SKILLS.pending, SKILLS.change
reject, hide, undo_batch = SKILLS.reject, SKILLS.hide, SKILLS.undo_batch


def skill_files(path: Path) -> list[Path]:
    """The SKILL.md files of a path: a file, a folder with one, or a folder of such folders. Raises UsageError."""
    path = Path(os.path.expanduser(path))  # unlike Path.expanduser it accepts an unknown user
    try:
        if not path.exists():
            raise UsageError(f"there is no {path}")
        if not path.is_dir():
            return [path]
        folders = [path, *sorted(each for each in path.iterdir() if each.is_dir())]
        found = [folder / FILE_NAME for folder in folders if (folder / FILE_NAME).exists()]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if not found:
        raise UsageError(f"{path} holds no {FILE_NAME}, and no folder with one")
    return found[:1] if found[0].parent == path else found


def example(name: str) -> str:
    """A skill that comes with the program. Raises UsageError when there is none of this name."""
    examples = {file.parent.name: file for file in skill_files(_EXAMPLES)}
    if name not in examples:
        raise UsageError(f"no example is called {name!r}; there are {', '.join(examples)}")
    return read_text(examples[name])


def read_text(path: Path) -> str:
    """The text of a file. Raises UsageError when it cannot be a skill."""
    try:
        if not path.is_file():
            raise UsageError("it is not a file")
        if path.stat().st_size > _MAX_BYTES:
            raise UsageError(f"a skill has at most {LONGEST} characters, and this has more")
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise UsageError(f"it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError("it is not UTF-8") from error


def read_folder(path: Path) -> tuple[str, list[str]]:
    """The files beside a SKILL.md as JSON, and the names of all else there. Raises UsageError for too many."""
    if path.name == FILE_NAME:
        with suppress(OSError):  # a folder may be readable without being listable
            beside = sorted(each for each in path.parent.iterdir() if each.name != path.name)
            folders = [each for each in beside if each.name in FOLDERS and each.is_dir() and not each.is_symlink()]
            others = [f"{each.name}{'/' * each.is_dir()}" for each in beside if each not in folders]
            return _contents(path.parent, folders), others
    return "{}", []


def _contents(top: Path, folders: Sequence[Path]) -> str:
    contents, size = dict[str, Any](), 0
    for folder, inner, names in (found for each in folders for found in os.walk(each)):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(name for name in names if not name.startswith(".") and name.isprintable()):
            file = Path(folder, name)
            if file.is_symlink() or not file.is_file():
                continue
            size += file.stat().st_size
            if len(contents) == _MOST_FILES or size > _MOST_BYTES:
                limit = f"{_MOST_FILES} files of {_MOST_BYTES // 1000} kB together"
                raise UsageError(f"a skill has at most {limit} beside its {FILE_NAME}, and this has more")
            content = file.read_bytes()
            contents[file.relative_to(top).as_posix()] = {_BYTES: b64encode(content).decode()}
            with suppress(UnicodeDecodeError):
                if "\0" not in (words := content.decode()):
                    contents[file.relative_to(top).as_posix()] = words
    return json.dumps(contents, ensure_ascii=False)


def file_texts(files: str) -> dict[str, str]:
    """The texts of the files of a skill by their paths; of one that is no text how large it is."""
    return {
        path: content if isinstance(content, str) else f"[no text: {len(b64decode(content[_BYTES])):,} bytes]"
        for path, content in json.loads(files).items()
    }


def file_text(skill: Skill, path: str) -> str:
    """Raises UsageError when the skill has no such file."""
    texts = file_texts(skill.files)
    if path not in texts:
        known = f"there are {', '.join(texts)}" if texts else "it has none"
        raise UsageError(f"{skill.name} has no file {one_line(path, 80)!r}; {known}")
    return texts[path]


def whole(skill: Skill) -> dict[str, bytes]:
    """All of a skill as files, by their paths in its folder."""
    files = {FILE_NAME: skill.text, **json.loads(skill.files)}
    return {path: each.encode() if isinstance(each, str) else b64decode(each[_BYTES]) for path, each in files.items()}


def write_files(folder: Path, written: Sequence[Skill], *, force: bool = False) -> Iterator[tuple[Path, bool]]:
    """Write skills as NAME/SKILL.md; yields each path, and whether it is new. Raises UsageError where others exist."""
    folder = Path(os.path.expanduser(folder))
    targets = [(folder / each.name / path, content) for each in written for path, content in whole(each).items()]
    try:
        existing = [path for path, _ in targets if path.exists()]
        if other := next((path for path in existing if not path.is_file()), None):
            raise UsageError(f"{other} exists already and is not a file: move it away")
        same = [path for path, content in targets if path in existing and path.read_bytes() == content]
        if not force and (other := next((path for path in existing if path not in same), None)):
            raise UsageError(f"{other} exists already with other content; say --force to write over it")
        for path, content in targets:
            if path not in same:
                atomic_file.make_folder(path.parent)
                atomic_file.write(path, content)
            yield path, path not in same
    except OSError as error:
        raise StoreError(f"{folder}: nothing can be written there ({error.strerror})") from error


# Which of them may help with a question. It is compared with names and descriptions only, which are written to be
# matched: by word stems that are rare among the skills, and by vector similarity where there are vectors. One shared
# word is too little, unless the question has hardly another. The weights were measured on 30 skills and 100 questions.

_MAX_MATCHES = 3
# Weights of a stem in the name and of a common word of requests; other stems and vector similarity count 1.
_IN_NAME, _OF_REQUESTS = 1.25, 0.4
_MIN_SCORE = 1.5  # a skill matches with at least this score, where 1 is one rare word; or
_MIN_WORD_SCORE, _MIN_COVERAGE = 1.2, 0.6  # with this score of words that cover this share of the question; or
_MIN_SIMILARITY = 0.5  # with this similarity, from the embedder's floor (0) to equal (1)
_PRIOR = 20  # skills added to the count: among three skills no word is rare
_HEAD, _TAIL = 400, 200  # characters of a long question that are compared
_WEAK = languages.words("WEAK_WORDS")


@frozen
class Match:
    id: int
    name: str
    description: str
    legs: Mapping[str, float]  # score by signal

    @property
    def score(self) -> float:
        return sum(self.legs.values())


def matching(db: Database, owner: str, question: str, vector: Sequence[float] | None = None) -> list[Match]:
    """The skills that may help, best first, at most three. `vector`: of the question, where there is one."""
    query = "select id, name, description from skill where owner = ? and state = ? and hidden_at is null"
    rows = db.rows(query, (owner, ACCEPTED))
    if not rows:
        return []
    stems, weights = _stems(db, question, rows)
    whole = sum(weights.values()) or 1.0
    similarities = _similarities(db, [id for id, _, _ in rows], vector)
    found = []
    for id, name, description in rows:
        named, matched = stems.get(id, (set(), set()))
        words = sum(weights[stem] * (_IN_NAME if stem in named else 1.0) for stem in matched)
        covered = sum(weights[stem] for stem in matched) / whole
        similarity = similarities.get(id, 0.0)
        if (
            words + similarity >= _MIN_SCORE
            or (words >= _MIN_WORD_SCORE and covered >= _MIN_COVERAGE)
            or similarity >= _MIN_SIMILARITY
        ):
            legs = {"words": words, "meaning": similarity}
            found.append(Match(id, name, description, {leg: share for leg, share in legs.items() if share}))
    return sorted(found, key=lambda match: (-match.score, match.name))[:_MAX_MATCHES]


def _stems(
    db: Database, question: str, rows: Sequence[tuple[int, str, str]]
) -> tuple[dict[int, tuple[set[str], set[str]]], dict[str, float]]:
    """The question's stems (or pairs of characters) in the name and the text of each skill, and their weights (idf)."""
    asked = question if len(question) <= _HEAD + _TAIL else f"{question[:_HEAD]} {question[-_TAIL:]}"
    weights: dict[str, float] = {}
    for word in terms.content_words(asked):
        if word not in terms.STOP_WORDS:
            weights |= dict.fromkeys(db.tokens(word), _OF_REQUESTS if word in _WEAK else 1.0)
    pairs = list(dict.fromkeys(pair for run in terms.unspaced_runs(asked) for pair in terms.content_pairs(run)))
    weights |= dict.fromkeys(pairs, 1.0)
    names, descriptions = db.tokens_of([name for _, name, _ in rows]), db.tokens_of([words for _, _, words in rows])
    stems, count = dict[int, tuple[set[str], set[str]]](), Counter[str]()
    for (id, _, description), name, words in zip(rows, names, descriptions, strict=True):
        named = weights.keys() & name
        stems[id] = named, named | (weights.keys() & words) | {pair for pair in pairs if pair in description}
        count.update(stems[id][1])
    rare = candidates.idf(len(rows) + _PRIOR, 1)
    for stem in weights:
        weights[stem] *= min(1.0, candidates.idf(len(rows) + _PRIOR, count[stem]) / rare)
    return stems, weights


def _similarities(db: Database, skills: Sequence[int], vector: Sequence[float] | None) -> dict[int, float]:
    """The similarity of each skill by its nearest passage: 0 at the embedder's floor, 1 for equal vectors."""
    among = vectors.current(db)
    if among is None or vector is None or len(vector) != among.dimension:
        return {}
    query = "select p.id, p.row from json_each(?) c cross join passage p on p.kind = 'k' and p.row = c.value"
    passages: dict[int, int] = dict(db.rows(query, (skills,)))
    try:
        with db.index_access():
            cosines = vectors.cosines(db, among, vector, list(passages))
    except IndexDamaged:
        return {}
    near: dict[int, float] = {}
    for passage, cosine in cosines.items():
        near[passages[passage]] = max(min(1.0, among.closeness(cosine)), near.get(passages[passage], 0.0))
    return near


# Erasure: a proposal goes with the session it was learned in. An accepted skill loses only the wordings that a model
# wrote in that session and that contain distinctive words of the erased messages, and later ones that still contain
# them; it reverts to its newest remaining wording.

_CONTENTS = "(select coalesce(group_concat(value, char(10)), '') from json_each({}))"  # of all files, as text
_FILES, _WAS_FILES = _CONTENTS.format("files"), _CONTENTS.format("coalesce(was ->> 'files', json_object())")
_WORDS = ("name", "description", "text", _FILES)
_WAS = ("(was ->> 'name')", "(was ->> 'description')", "(was ->> 'text')", _WAS_FILES)

_TABLES = (
    lineage.Table(
        "skill",
        day="changed_at",
        line="name || ': ' || description",
        mentions=f"""{lineage.mentions_topic(*_WORDS)}
                     or exists (select 1 from skill_version
                                where skill_id = skill.id and {lineage.mentions_topic(*_WAS)})""",
        stated_text=lineage.joined(*_WORDS),
        personal_texts=(f"select {', '.join(_WORDS)} from skill where origin <> 'model' and id {{ids}}",),
        other_texts=(", ".join(_WORDS),),
        remembered=("text",),
    ),
    lineage.Table(
        "skill_version",
        part_of="skill",
        stated_text=f"coalesce({lineage.joined(*_WAS)}, '')",
        other_texts=(", ".join(_WAS),),
        remembered=("was ->> 'text'",),
    ),
)

Wording = Mapping[str, Any]
"""The columns of a skill as it is or was before a change. `row`: of skill_version; None for the present wording."""


def _derive(db: Database, walk: lineage.Walk) -> None:
    """Find what is erased of the skills learned in sessions that lose messages, and of those that mention the topic."""
    sessions = sorted({*walk["session"], *walk.staying("session")})
    proposed = lineage.column(db, "select id from skill where state <> 'accepted' and session_id {ids}", sessions)
    erased = {*walk["skill"], *proposed}
    learned_in = db.column(  # accepted skills with a wording from one of these sessions
        """select id from skill where state = 'accepted' and (session_id in (select value from json_each(?1))
             or id in (select skill_id from skill_version
                       where was ->> 'session_id' in (select value from json_each(?1)))) order by id""",
        (sessions,),
    )
    learned = sorted({*learned_in, *walk.request.mentioned.get("skill", ())} - erased)
    wanted = _distinctive_terms(db, walk, sessions) if learned else keywords.SearchTerms()
    is_about = keywords.topic_matcher(walk.request.topic, db.tokens)
    walk.partial["skill"] = {}
    for id in learned:
        wordings = _wordings(db, id)
        lost = _lost(wordings, wanted, {*sessions}, is_about)
        if not lost:
            continue
        changing = f"select id, {lineage.joined(*_WORDS)} from skill where target_id = ? and state <> 'accepted'"
        erased |= {each for each, words in db.rows(changing, (id,)) if wanted.found_in(keywords.fold(words))}
        left = [each for each in wordings if each["state"] == ACCEPTED and _content(each) not in lost]
        if not left:
            erased.add(id)
            continue
        walk.add("skill_version", [each["row"] for each in wordings if each["row"] and _content(each) in lost])
        newest = max(left, key=lambda each: (each["version"], each["row"] or 0))
        walk.partial["skill"][id] = newest if _content(wordings[-1]) in lost else None
    changing = "select id from skill where state <> 'accepted' and target_id {ids}"  # proposals to change these
    walk.add("skill", erased | {*lineage.column(db, changing, erased)})
    versions = "select id from skill_version where was is not null and skill_id {ids}"
    walk.add("skill_version", lineage.column(db, versions, walk["skill"]))
    reverted = [id for id, newest in walk.partial["skill"].items() if newest]
    words = f"select {', '.join(_WORDS)} from skill where id {{ids}}"
    walk.removed_texts["skill"] = lineage.texts(db, [words], reverted)


def _erase_walk(db: Database, walk: lineage.Walk, time: clock.Clock) -> None:
    """Delete skills, or revert them to an earlier wording."""
    erase(db, walk["skill"])
    for id, newest in walk.partial["skill"].items():
        if newest:
            _revert(db, id, newest, time)
    SKILLS.drop_versions(db, walk["skill_version"])
    SKILLS.clear(db, "session_id", walk["session"], session_id=None)
    learned_in = "update skill set session_id = null where session_id in (select value from json_each(?))"
    db.execute(learned_in, (walk["session"],))


LINEAGE = lineage.Owner(_TABLES, _erase_walk, _derive)


def describe_shortened(db: Database, walk: lineage.Walk) -> list[str]:
    """A sentence for each skill that stays and loses a wording, those that revert first."""
    found = sorted(walk.partial["skill"].items(), key=lambda each: each[1] is None)
    names: dict[int, str] = dict(lineage.rows(db, "select id, name from skill where id {ids}", walk.partial["skill"]))
    what = {id: f"goes back to version {to['version']}" if to else "loses an earlier version" for id, to in found}
    return [f"{ids.handle('skill', id)} {names[id]}: {does}" for id, does in what.items()]


def _revert(db: Database, skill: int, was: Wording, time: clock.Clock) -> None:
    """Revert a skill to a former wording without a record; it is hidden where another has that name by now."""
    columns = ("name", "description", "text", "files", "version", "origin", "trust", "session_id")
    now, other = clock.utc(time()), called(db, was["owner"], was["name"])
    hidden = {"hidden_at": now} if other and other.id != skill else {}
    write(db, skill, **{key: was[key] for key in columns}, changed_at=now, **hidden)
    events.append(db, time, "skill forgotten", ids.handle("skill", skill), actor="person", content=was["text"])


def _wordings(db: Database, id: int) -> list[Wording]:
    """The wordings of a skill, the oldest first, the present one last."""
    rows = db.rows("select id, was from skill_version where skill_id = ? and was is not null order by id", (id,))
    former = [{"files": "{}", **json.loads(was), "row": row} for row, was in rows]
    return [*former, *({**asdict(each), "row": None} for each in SKILLS.select(db, "id = ?", (id,)))]


def _content(wording: Wording) -> tuple[str, str]:
    return wording["text"], wording["files"]


def _lost(
    wordings: Sequence[Wording], wanted: keywords.SearchTerms, sessions: set[int], is_about: Callable[[str], bool]
) -> set[tuple[str, str]]:
    """The contents about the topic, and those with erased words from the first one on that the sessions taught."""
    lost, before, learned = set[tuple[str, str]](), set[tuple[str, str]](), False
    for each in wordings:
        words = "\n".join((each["name"], each["description"], each["text"], *file_texts(each["files"]).values()))
        has_erased_words = bool(wanted.found_in(keywords.fold(words)))
        learned |= has_erased_words and each["origin"] == "model" and each["session_id"] in sessions
        if not learned:
            before.add(_content(each))
        if (has_erased_words and _content(each) not in before) or is_about(words):
            lost.add(_content(each))
    return lost


def _distinctive_terms(db: Database, walk: lineage.Walk, sessions: Sequence[int]) -> keywords.SearchTerms:
    """The erased words and lines of messages that occur in no other message of their sessions."""
    erased_ids, cut = {*walk["message"]}, walk.partial["message"]
    rows = lineage.rows(db, "select id, text from message where session_id {ids} and text <> ''", sessions)
    calls = "select m.id, c.arguments from tool_call c join message m on m.id = c.message_id where m.session_id {ids}"
    rows += lineage.rows(db, calls, sessions)
    erased = [text for id, text in rows if id in erased_ids]
    erased += [sentence for message in cut.values() for sentence in message.removed.values()]
    remaining = [text for id, text in rows if id not in erased_ids and id not in cut]
    remaining += [message.left for message in cut.values()]
    finders = (keywords.line_ends, keywords.distinctive_words)
    return keywords.SearchTerms(*(frozenset({*each(erased)} - {*each(remaining)}) for each in finders))
