"""What the tests of forgetting share: files read without the program's own reader, and the secret spread everywhere."""

import json
from pathlib import Path

from agent_cli import clock, text
from agent_cli.llm import embedded
from agent_cli.memory.conversations import digest, log, sessions
from agent_cli.memory.dates import due_times, periods
from agent_cli.memory.documents import documents
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.forgetting import erasure_receipt, forget, selection
from agent_cli.memory.planner import notes, schedules, tasks
from agent_cli.memory.search import index, recall_log, vectors
from agent_cli.memory.search.recall import Hit
from agent_cli.memory.skills import skills
from agent_cli.memory.summaries import summaries
from agent_cli.memory.summaries.summaries import NewSummary, Source
from agent_cli.messages import Message, Part, ToolCall, ToolResult
from agent_cli.store import changes, jobs
from tests.conftest import HERE, NOON, memory_of, noon
from tests.turns import summarise


def traces(path, secret):
    """How often a text stands in the files of a database: in any case, escaped, and in pieces of eight bytes."""
    pieces = set()
    for told in (secret, secret.lower(), secret.casefold(), secret.upper()):
        for encoded in (told.encode(), json.dumps(told)[1:-1].encode()):
            pieces |= {encoded[n : n + 8].lower() for n in range(len(encoded) - 7)} | {encoded.lower()}
    held = b"".join(each.read_bytes().lower() for each in Path(path).parent.glob(Path(path).name + "*"))
    return sum(held.count(piece) for piece in pieces)


def planned(db, *named):
    """What goes with the rows that have these handles."""
    return forget.planned(db, selection.select_by_handle(db, "person", named))


def about(db, words):
    """What goes with a topic."""
    return forget.planned(db, selection.select_by_topic(db, "person", words))


def erase(db, *named):
    return erasure_receipt.erase(db, planned(db, *named), noon)


def keep_period(db, grain, words, details, *sources, at=NOON, owner="person"):
    """A summary of the period of a grain, each sentence of it from these sources; gives its number."""
    made = NewSummary(words, details, "model", "m", tuple(sources for _ in text.sentences(words)), sources)
    with db.write():
        return summaries.save_period(db, owner, periods.containing(at.date(), grain), made, clock.utc(at), noon)


def learn(db, session, name, body, yes=True, about=""):
    """A skill, or a change to one, that a model learned in a session; with the person's yes, or waiting."""
    told = skills.compose(name, f"How to {about or name}", body)
    made = skills.propose(memory_of(db), told, session=session)
    return skills.accept(memory_of(db), made) if yes else made


def teach(db, session, secret):
    """Skills that were learned in a session: one that waits, one that was refused, one with the secret in between."""
    learn(db, session, "wait", f"Type {secret} and wait.", yes=False, about=secret)
    skills.reject(memory_of(db), learn(db, session, "refuse", f"Type {secret} at once.", yes=False))
    skills.add(memory_of(db), skills.compose("open-safe", "Opens the safe", "Turn the wheel."))
    learn(db, session, "open-safe", f"Turn the wheel to {secret}.")
    learn(db, session, "open-safe", f"First breathe. Then turn the wheel to {secret}.")
    skills.hide(memory_of(db), learn(db, session, "shout", f"Shout {secret} loudly."))
    files = json.dumps({"references/safe.md": f"It opens with\n{secret}."}, ensure_ascii=False)
    skills.import_skill(memory_of(db), skills.compose("open-door", "Opens the door", "Turn."), files, accepted=True)


def keep_files(db, folder, secret):
    """A file that says the secret in its text, one in its heading, one in its title and one in its name, of a glob."""
    folder.mkdir()
    (folder / "safe.md").write_text(f"# Safe\n\nTurn it to {secret} and pull.\n\n# Garden\n\nBeans in May.\n")
    (folder / "head.md").write_text(f"# Doors\n\nAll shut.\n\n## The {secret} door\n\nIt is green.\n")
    (folder / "title.html").write_text(f"<title>On {secret}</title><p>It is said to be long.</p>")
    (folder / f"{secret}.txt").write_text("Nothing else is in here.\n")
    for pattern in (str(folder), f"{folder}/{secret}*"):
        documents.add(db, HERE, pattern, noon)
    sync(db)
    with db.write():
        db.execute("update document set error = ? where path like '%.txt'", (f"{secret} cannot be read",))


def sync(db):
    """Look at all files once more; what was found."""
    tally = documents.SyncResult()
    for _ in documents.sync(db, "person", noon, tally):
        pass
    return tally


def set_for_later(db, session, asked, secret):
    """Tasks and schedules, by hand and by a model; and the key of a caller's request."""
    tasks.add(db, HERE, f"open the safe with {secret}", None, noon, session=session)
    due = due_times.parse("tomorrow 9:00", NOON, "Europe/Vienna")
    tasks.add(db, HERE, "call the smith", due, noon, origin="model", session=session, message=asked)
    with db.write():
        db.execute("update task set told = ? where id = 2", (f"when {secret} is due",))
    schedules.add(db, HERE, "0 7 * * *", noon, prompt=f"What is new about {secret}?", zone="UTC")
    schedules.add(db, HERE, "0 8 * * *", noon, prompt="hello", zone="UTC", target="file", target_path=f"/x/{secret}")
    command = {"target": "command", "target_path": json.dumps(["sendmail", secret])}
    schedules.add(db, HERE, "0 9 * * *", noon, skill="shout", zone="UTC", **command)
    schedules.add(db, HERE, "0 9 * * *", noon, prompt="brief me", zone="UTC")
    with db.write():
        db.execute("update schedule set skill = ? where id = 3", (f"shout-{secret}",))
        db.execute("update schedule set error = ?, last_session = ? where id = 4", (f"no {secret}", session))
        for key, message in (("plain", asked), (f"key {secret}", None)):
            db.execute(
                """insert into answered (owner, key, hash, session_id, message_id, lines, at)
                   values ('person', ?, '', ?, ?, ?, ?)""",
                (key, session, message, f'{{"receipts": ["kept f1: “{secret}”"]}}', clock.utc(NOON)),
            )


def spread(db, secret, embed=False, files=None):
    """The secret in every table that can hold it; gives the session's number and bytes of its vectors."""
    session = sessions.start(db, HERE, NOON)
    asked = log.add_user_message(db, session, HERE, [Part(f"The code of my safe is {secret}.", "typed")], NOON)
    call = ToolCall("c1", "save_note", {"text": f"safe: {secret}"})
    reply = log.open_reply(db, session, HERE, "m", NOON)
    thought = Message("assistant", f"I keep {secret} for you.", (call,), thinking=f"They said {secret}.")
    log.close_reply(db, reply, thought, "stop", log.Usage("m"), NOON)
    log.add_tool_result(db, session, HERE, call, ToolResult(f"saved {secret}"), NOON)
    note = notes.add(db, HERE, f"safe: {secret}", noon, title=f"code {secret}", session=session)
    claim = adoption.claim(f"The code of the safe is {secret}", "typed", message=asked, quote=f"is {secret}")
    fact = adoption.add(memory_of(db), claim).fact
    adoption.edit(memory_of(db), fact, "The code of the safe is not told to anybody")
    other = adoption.add(memory_of(db), adoption.claim(f"{secret} opens the safe", "typed", message=asked)).fact
    apart = adoption.add(memory_of(db), adoption.claim("The smith knows it", "typed", message=asked)).fact
    with db.write():
        db.execute("update fact set subject = ?1, object = ?1 where id = ?2", (secret, apart.id))
        db.execute("insert into fact_source values (?, ?, ?, '')", (apart.id, reply, f"I keep {secret}"))
    log.add_note(db, session, f"jotted {secret}", NOON)
    sessions.change(db, session, title=f"Safe {secret}")
    digest.fold(db, session, reply, NOON)
    with db.write():
        db.execute("update rolling set text = text || ?1, details = ?1", (f" I keep {secret}.",))
    told = Source("summary", summarise(db, session, f"They told the code {secret}."))
    for grain in periods.UNITS:
        told = Source("summary", keep_period(db, grain, f"In this {grain} the code was {secret}.", secret, told))
    teach(db, session, secret)
    jobs.add(db, "summary", f"s{session}", NOON)
    with db.write():
        db.execute("update job set error = ?", (f"the model said {secret} and broke off",))
    log.add_prompt(db, HERE, session, f"The code of my safe is {secret}.", NOON)
    sessions.change(db, session, closed_at=clock.utc(NOON), holder=None)
    later = sessions.start(db, HERE, NOON)
    set_for_later(db, session, asked, secret)
    if files:
        keep_files(db, files, secret)
    question = log.add_user_message(db, later, HERE, [Part("What is the code?", "typed")], NOON)
    hit = Hit("message", asked, None, session, 0.0, 1.0, secret, {"words": 1.0})
    with db.write():
        changes.wait(db, "note", "its uid", {"columns": {"text": f"from another machine: {secret}"}, "stamps": {}})
    recall_log.record(db, question, [(hit, f"- m{asked}: The code of my safe is {secret}.")], "", NOON)
    sessions.change(db, later, opening=f"The end of the previous session (s{session}, 2 January):\nperson: {secret}")
    index.refresh_all(db)
    assert fact.id != other.id
    assert facts.listing(db, "person", 5)
    bytes_of = []
    if embed:
        made = embedded.EmbeddedEmbedder()
        among = vectors.create(db, made.identity(), made.dimension(), made.similarity_floor)
        while vectors.fill(db, among, made.embed_documents):
            pass
        words = db.rows("select id from passage_text where instr(own, ?)", (secret,))
        for (id,) in words:
            table = (among if id > 0 else among.files).table
            vector = db.value(f"select e from {table} where id = ?", (id,))
            bytes_of.append(vector[64:80])
    return session, note.handle, bytes_of
