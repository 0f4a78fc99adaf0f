"""Exports of other programs, shaped as they ship them and made up."""

import json
import sqlite3
import zipfile


def node(id, parent, role="user", words="", at=None, **more):
    """An entry of a ChatGPT mapping; `content`, `metadata`, `name` and what else a message has by name."""
    message = {
        "id": id,
        "author": {"role": role, "name": more.pop("name", None), "metadata": {}},
        "create_time": at,
        "update_time": None,
        "content": more.pop("content", {"content_type": "text", "parts": [words]}),
        "status": "finished_successfully",
        "end_turn": None,
        "weight": more.pop("weight", 1.0),
        "metadata": more.pop("metadata", {}),
        "recipient": "all",
    }
    return {"id": id, "message": message | more, "parent": parent, "children": []}


def chatgpt(*nodes, id="c1", title="Trip", current=None, **more):
    mapping = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    mapping |= {each["id"]: {**each, "children": []} for each in nodes}
    for each in nodes:
        if each["parent"] in mapping:
            mapping[each["parent"]]["children"].append(each["id"])
    return {
        "title": title,
        "create_time": 1704067200.5,
        "update_time": 1704153600.456,
        "mapping": mapping,
        "moderation_results": [],
        "current_node": current or (nodes[-1]["id"] if nodes else "root"),
        "conversation_id": id,
        "id": id,
        **more,
    }


def claude(*messages, uuid="k1", name="Garden", **more):
    return {
        "uuid": uuid,
        "name": name,
        "created_at": "2025-03-01T09:00:00.000000Z",
        "updated_at": "2025-03-01T10:00:00.000000Z",
        "account": {"uuid": "someone"},
        "chat_messages": [_claude_message(number, *each) for number, each in enumerate(messages)],
        **more,
    }


def _claude_message(number, sender, text, more=None):
    return {
        "uuid": f"u{number}",
        "text": text,
        "content": [{"type": "text", "text": text, "citations": []}] if text else [],
        "sender": sender,
        "created_at": f"2025-03-01T09:0{number}:00.000000Z",
        "attachments": [],
        "files": [],
        **(more or {}),
    }


def archive(path, conversations, name="conversations.json"):
    with zipfile.ZipFile(path, "a") as opened:
        opened.writestr(name, json.dumps(conversations))
    return path


OLD = """
create table conversations (id text primary key, name text, model text);
create table responses (id text primary key, model text, prompt text, system text, prompt_json text, options_json text,
    response text, response_json text, conversation_id text references conversations(id), duration_ms integer,
    datetime_utc text);
"""
COUNTED = """
alter table responses add column input_tokens integer;
alter table responses add column output_tokens integer;
alter table responses add column resolved_model text;
create table fragments (id integer primary key, hash text, content text, source text);
create table prompt_fragments (response_id text, fragment_id integer, "order" integer);
"""
NEW = """
create table messages (hash text primary key, parent_hash text, role text, provider_metadata text);
create table parts (id integer primary key, message_hash text, position integer, type text, tool_name text, text text,
    payload text);
create table threads (id text primary key, name text, tip_message_hash text, forked_from text, datetime_utc text);
create table turns (id text primary key, thread_id text, parent_message_hash text, tip_message_hash text, model text,
    resolved_model text, options_json text, schema_id text, input_tokens integer, output_tokens integer,
    token_details text, duration_ms integer, datetime_utc text, response_json text);
"""


def llm(path, *scripts):
    """A log of llm with these shapes and rows."""
    with sqlite3.connect(path) as db:
        for script in scripts:
            db.executescript(script)
    db.close()
    return path


def llm_said(path, id, prompt, response, conversation="l1", at="2024-05-01T08:00:00+00:00"):
    with sqlite3.connect(path) as db:
        db.execute("insert or ignore into conversations values (?, 'Cheese', 'gpt-4o')", (conversation,))
        db.execute(
            """insert into responses (id, model, prompt, system, response, conversation_id, datetime_utc)
               values (?, 'gpt-4o', ?, 'Be short.', ?, ?, ?)""",
            (id, prompt, response, conversation, at),
        )
    db.close()


def llm_turn(path, id, prompt, response, parent=None, thread="l1", at="2026-08-01T08:00:00+00:00", **more):
    """A turn of the newer shape behind another one; gives the message it ends with."""
    asked, answered = f"b2:{id}?", f"b2:{id}!"
    rows = [(asked, parent, "user", prompt), (answered, asked, "assistant", response)]
    with sqlite3.connect(path) as db:
        db.execute("insert or ignore into threads values (?, 'Cheese', null, null, ?)", (thread, at))
        for hash, before, role, words in rows:
            db.execute("insert into messages values (?, ?, ?, null)", (hash, before, role))
            db.execute(
                "insert into parts (message_hash, position, type, text, payload) values (?, 0, 'text', ?, ?)",
                (hash, words, more.get("payload") if role == "user" else None),
            )
        db.execute(
            """insert into turns (id, thread_id, parent_message_hash, tip_message_hash, model, input_tokens,
                                  output_tokens, datetime_utc) values (?, ?, ?, ?, 'gpt-5', 7, 9, ?)""",
            (id, thread, asked, answered, at),
        )
    db.close()
    return answered
