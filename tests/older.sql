-- The whole schema. `reconcile` (schema.py) brings any older file up to it; a column added later needs a default or null.
-- Every row: `id` is the handle a person types after a letter (m903), `uid` is sortable and unique across machines.
-- Times are UTC text with the local offset in minutes beside them. `owner` is "person" or, later, a caller.

-- Canonical: what was said, written and decided. Never dropped by the program.

create table session (
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    place text not null,                        -- git remote or folder it was started in
    kind text not null default 'chat',          -- chat, or ask: a one-shot, not carried over
    title text not null default '',
    started_at text not null,
    utc_offset integer not null,
    last_at text not null,                      -- when something was last said
    closed_at text,
    hidden_at text,
    holder text,                                -- the process that has it open
    opening text,                               -- what was carried over at its start, as the model sees it
    source text,                                -- where it was imported from, and its id there
    external_id text
) strict;
create unique index session_external on session (owner, source, external_id) where external_id is not null;
create index session_recent on session (owner, last_at);

create table message (
    id integer primary key autoincrement,
    uid text not null unique,
    session_id integer not null references session (id),
    owner text not null,
    place text not null,
    role text not null,                         -- user, assistant, tool
    author text not null default '',
    text text not null,
    parts text not null default '[]',           -- [[origin, length in characters, name], …], adding up to text
    thinking text not null default '',
    answers text not null default '',           -- tool: the id of the call it answers
    tool text not null default '',              -- tool: its name
    failed integer not null default 0,
    finish text,                                -- null while it streams; stop, length, cancelled, interrupted, failed, refused
    model text not null default '',
    tokens_in integer not null default 0,
    tokens_out integer not null default 0,
    cost real not null default 0,
    duration_ms integer not null default 0,
    at text not null,
    utc_offset integer not null,
    external_id text
) strict;
create index message_session on message (session_id, id);
create unique index message_external on message (session_id, external_id) where external_id is not null;
create index message_open on message (session_id) where finish is null;

create table tool_call (
    id integer primary key autoincrement,
    uid text not null unique,
    message_id integer not null references message (id),
    call_id text not null,
    name text not null,
    arguments text not null                     -- a JSON object
) strict;
create index tool_call_message on tool_call (message_id, id);

create table jotting (                          -- session memory: erased when its session closes
    id integer primary key autoincrement,
    uid text not null unique,
    session_id integer not null references session (id),
    text text not null,
    at text not null,
    utc_offset integer not null
) strict;
create index jotting_session on jotting (session_id, id);

create table note (
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    place text not null,
    session_id integer references session (id),
    origin text not null,
    title text not null default '',
    text text not null,
    at text not null,
    utc_offset integer not null,
    changed_at text not null,
    hidden_at text
) strict;
create index note_recent on note (owner, changed_at);

create table summary (
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    place text not null,
    session_id integer unique references session (id),
    grain text not null default 'session',
    text text not null,
    method text not null,                       -- model, or extract: done without one, to be done again
    model text not null default '',
    at text not null,
    utc_offset integer not null,
    hidden_at text
) strict;

create table job (
    id integer primary key autoincrement,
    uid text not null unique,
    kind text not null,
    subject text not null,                      -- the handle it is about; one waiting job for each kind and subject
    state text not null default 'ready',        -- ready, running, parked, done
    attempts integer not null default 0,
    due_at text not null,
    lease_until text,
    holder text,
    error text not null default '',
    at text not null,
    utc_offset integer not null,
    finished_at text
) strict;
create unique index job_waiting on job (kind, subject) where state <> 'done';
create index job_due on job (state, due_at);

create table event (                            -- append-only audit: ids, kinds and hashes, never text
    id integer primary key autoincrement,
    uid text not null unique,
    kind text not null,
    actor text not null,                        -- person, model, program
    session_id integer,
    subject text not null default '',
    hash text not null default '',
    at text not null,
    utc_offset integer not null
) strict;
create trigger event_is_append_only before update on event begin select raise(abort, 'the event log is append-only'); end;

-- About the file itself.

create table meta (key text primary key, value text not null) strict, without rowid;
create table migration (name text primary key, at text not null) strict, without rowid;
