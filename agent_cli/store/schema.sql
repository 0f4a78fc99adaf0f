-- The whole schema. `reconcile` (schema.py) brings any older file up to it; a column added later needs a default or null.
-- Every row: `id` is the handle a person types after a letter (m903), `uid` is sortable and unique across machines.
-- Times are UTC text with the local offset in minutes beside them. `owner` is "person" or, later, a caller.

-- Canonical data: messages, notes and decisions. Never dropped by the program.

create table session (
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    place text not null,                        -- git remote or folder it was started in
    kind text not null default 'chat',          -- chat; ask: a single question, not carried over
    title text not null default '',
    started_at text not null,
    utc_offset integer not null,
    last_at text not null,                      -- when its last message was written
    opened_at text,                             -- when it was last resumed
    closed_at text,
    hidden_at text,
    holder text,                                -- the process that has it open
    terminal text,                              -- where it was typed last (holder.terminal); null: beside another or over HTTP
    opening text,                               -- what was carried over at its start, as the model sees it
    profile text,                               -- the facts it was told at its start: [[ids], the last change by then]
    read_to integer not null default 0,         -- the last message that was searched for facts
    reflected_to integer not null default 0,    -- the last message that was searched for skills
    unlearned_to integer not null default 0,    -- the last message that was said while learning was off
    source text,                                -- where it was imported from, and its id there
    external_id text,
    pinned integer not null default 0           -- retention keeps its messages
) strict;
create unique index session_external on session (owner, source, external_id) where external_id is not null;
create index session_recent on session (owner, last_at);
create index session_open on session (last_at) where closed_at is null;

create table message (
    id integer primary key autoincrement,
    uid text not null unique,
    session_id integer not null references session (id),
    owner text not null,
    place text not null,                        -- where it was written; empty: the place of its session
    role text not null,                         -- user, assistant, tool
    author text not null default '',
    text text not null,
    parts text not null default '[]',           -- [[origin, length in characters, name], …], adding up to text
    thinking text not null default '',
    answers text not null default '',           -- tool: the id of the call it answers
    tool text not null default '',              -- tool: its name
    failed integer not null default 0,
    finish text,                                -- null while it streams; else see log.close_reply
    model text not null default '',
    tokens_in integer not null default 0,
    tokens_out integer not null default 0,
    cost real not null default 0,
    duration_ms integer not null default 0,
    at text not null,
    utc_offset integer not null,
    external_id text,
    undone_at text,                             -- when it was undone: the row stays and is ignored
    undone_by integer                           -- the message that replaces it
) strict;
create view said as select * from message where undone_at is null;
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

create table summary (                          -- of a session, or of a day, week, month, quarter or year
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    place text not null,                        -- empty for a period: it covers all places
    session_id integer unique references session (id),
    grain text not null default 'session',      -- session, day, week, month, quarter, year
    period text not null default '',            -- 2026-11-20, 2026-W47, 2026-11, 2026-Q4, 2026; empty for a session
    text text not null,
    details text not null default '',           -- numbers, paths, addresses, commands, dates, verbatim
    method text not null,                       -- model, or extract: without a model, to be redone with one
    model text not null default '',
    last_at text,                               -- the last moment it covers; null: when it was made
    at text not null,
    utc_offset integer not null,
    pinned integer not null default 0,          -- retention keeps it
    hidden_at text
) strict;
create unique index summary_period on summary (owner, period) where period <> '';

create table summary_source (                   -- the sources of each sentence of a summary
    summary_id integer not null references summary (id),
    sentence integer not null,                  -- from 1; 0: a source of the whole
    kind text not null,                         -- message, session, summary, fact
    row integer not null,                       -- may be missing after retention: the sentence stays
    primary key (summary_id, sentence, kind, row)
) strict, without rowid;
create index summary_source_row on summary_source (kind, row);

create table rolling (                          -- summarizes the part of a session that the model no longer sees
    session_id integer primary key references session (id),
    up_to integer not null,                     -- the last message that it covers
    text text not null,                         -- under 150 words
    details text not null default '',           -- numbers, paths, addresses, commands, dates, verbatim
    method text not null,                       -- model, or extract
    at text not null
) strict;

create table job (
    id integer primary key autoincrement,
    uid text not null unique,
    kind text not null,
    subject text not null,                      -- a handle; one waiting job for each kind and subject
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
    actor text not null,                        -- person, model, tool, mcp, http, editor, import, schedule, program
    session_id integer,
    subject text not null default '',
    hash text not null default '',
    at text not null,
    utc_offset integer not null,
    terminal text not null default '',          -- of the process that wrote it; empty: none
    process integer,
    parent integer,                             -- the process above it
    link text not null default ''               -- a hash of this row and of the link before it
) strict;
create trigger event_is_kept before delete on event begin select raise(abort, 'the event log is append-only'); end;
create trigger event_is_not_replaced before insert on event when exists (select 1 from event where id = new.id or uid = new.uid)
    begin select raise(abort, 'the event log is append-only'); end;
create trigger event_is_append_only before update on event begin select raise(abort, 'the event log is append-only'); end;

-- About the file itself.

create table meta (key text primary key, value text not null) strict, without rowid;
create table migration (name text primary key, at text not null) strict, without rowid;

-- Facts: what is known about the person. They are accepted by memory/facts/adoption.py.

create table fact (
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    place text not null default '',             -- empty: true everywhere
    session_id integer references session (id), -- true only in this session
    statement text not null,
    subject text not null default '',           -- "person", or a name; empty: not parsed into a triple
    predicate text not null default '',
    object text not null default '',
    state text not null,                        -- pending, accepted, rejected, superseded, expired
    operation text not null default 'insert',   -- on acceptance: insert, update (replaces the target), delete (ends it)
    target_id integer references fact (id),
    origin text not null,                       -- how it came in: typed, pasted, piped, file, tool, import, http, model
    trust text not null default '',             -- the least trusted origin of its sources
    inferred integer not null default 0,        -- its quote is not verbatim in a message of the person
    message_id integer references message (id), -- where it was said
    quote text not null default '',
    valid_from text,                            -- true from this time; null: from when it was learned
    valid_to text,                              -- the last moment at which it is true; null: not known to end
    learned_at text not null,
    decided_at text,
    utc_offset integer not null,
    source text,
    hidden_at text,
    in_profile text not null default ''         -- in every session: always, never; empty: as the profile chooses
) strict;
create index fact_message on fact (message_id) where message_id is not null;
create index fact_state on fact (owner, state, id);
create index fact_ended on fact (owner, valid_to) where valid_to is not null;
create index fact_hidden on fact (owner, id) where hidden_at is not null;
create index fact_target on fact (target_id) where target_id is not null;
create index fact_told on fact (owner, subject, predicate) where predicate <> '';
create index fact_plain on fact (owner, statement) where predicate = '';
create index fact_imported on fact (owner, source, message_id, statement) where source is not null;

create table fact_source (                      -- further messages that state it
    fact_id integer not null references fact (id),
    message_id integer not null references message (id),
    quote text not null,
    at text not null,
    primary key (fact_id, message_id)
) strict, without rowid;
create index fact_source_message on fact_source (message_id);

create table fact_version (                     -- a fact as it was before each change
    id integer primary key autoincrement,
    fact_id integer not null references fact (id),
    change text not null,                       -- added, proposed, accepted, rejected, replaced, ended, edited, hidden, …
    was text,                                   -- its columns as a JSON object; null: it did not exist
    batch text not null,                        -- changes of one batch are undone together
    actor text not null,
    undone integer not null default 0,
    at text not null,
    utc_offset integer not null
) strict;
create index fact_version_fact on fact_version (fact_id, id);
create index fact_version_batch on fact_version (batch);

create table forgotten (                        -- keyed hashes of erased texts, so that no import restores them
    hash text primary key,
    at text not null,                           -- the last time; each time later than the one before
    seen text not null default '{}'             -- from another machine: the last ids here then, {table: id}
) strict, without rowid;

-- Skills: how something is done. They are accepted by memory/skills/skills.py.

create table skill (
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    name text not null,                         -- lower case letters, digits and hyphens
    description text not null,                  -- what it does and when to use it
    text text not null,                         -- the whole SKILL.md, verbatim
    files text not null default '{}',           -- its other files: {path: text, or {base64: bytes that are no text}}
    version integer not null default 1,
    state text not null,                        -- pending, accepted, rejected, expired
    target_id integer references skill (id),    -- of a proposal: the skill it changes
    base integer,                               -- the version of that skill
    origin text not null,                       -- how it came in: typed, file, import, model
    trust text not null default '',             -- the least trusted origin of its sources
    session_id integer references session (id), -- the session it was learned in
    at text not null,
    utc_offset integer not null,
    changed_at text not null,
    decided_at text,
    hidden_at text
) strict;
create index skill_state on skill (owner, state, id);
create index skill_session on skill (session_id) where session_id is not null;
create index skill_target on skill (target_id) where target_id is not null;
create index skill_name on skill (owner, name) where state = 'accepted' and hidden_at is null;

create table skill_version (                    -- a skill as it was before each change
    id integer primary key autoincrement,
    skill_id integer not null references skill (id),
    change text not null,                       -- added, proposed, accepted, rejected, edited, hidden, …
    was text,                                   -- its columns as a JSON object; null: it did not exist
    batch text not null,                        -- changes of one batch are undone together
    actor text not null,
    undone integer not null default 0,
    at text not null,
    utc_offset integer not null
) strict;
create index skill_version_skill on skill_version (skill_id, id);
create index skill_version_batch on skill_version (batch);

-- Tasks: what is to be done, and when the person is reminded of it.

create table task (
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    place text not null,
    session_id integer references session (id), -- in which it was created
    message_id integer references message (id), -- of the person, that asked for it; null: created by hand
    origin text not null,                       -- how it came in: typed, piped, model, schedule, http, mcp
    text text not null,
    told text not null default '',              -- when, in the person's words: every Monday 9:00
    due_at text,                                -- null: no due time
    zone text not null default '',              -- time zone, as in Europe/Vienna
    repeats text not null default '',           -- an RRULE (RFC 5545) without its start: FREQ=WEEKLY;BYDAY=MO
    starts text not null default '',            -- if it repeats: its first time in the zone, 2026-11-23T09:00
    state text not null default 'open',         -- open, done
    snoozed_to text,                            -- no reminder before this
    reminded_at text,                           -- the last reminder
    reminded integer not null default 0,        -- reminders since it was due
    done_at text,                               -- if it repeats: when it was last done
    at text not null,
    utc_offset integer not null,
    changed_at text not null,
    hidden_at text
) strict;
create index task_due on task (owner, due_at) where state = 'open' and hidden_at is null and due_at is not null;
create index task_recent on task (owner, state, id);
create index task_message on task (message_id) where message_id is not null;
create index task_session on task (session_id) where session_id is not null;

-- Documents: files of the person, indexed for search. The files are never changed; these rows follow them.

create table collection (                       -- what was added: a file, a folder with its contents, or a glob
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    place text not null,
    pattern text not null,                      -- absolute
    at text not null,
    utc_offset integer not null,
    synced_at text,                             -- when all of it was last read
    unique (owner, pattern)
) strict;

create table document (
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    collection_id integer not null references collection (id),
    path text not null,                         -- absolute, symbolic links resolved
    size integer not null,                      -- bytes
    changed_ns integer not null,                -- the file's own time, in nanoseconds
    hash text not null default '',              -- SHA-256 of its bytes; empty: not read to its end
    title text not null default '',
    error text not null default '',             -- why it could not be read
    at text not null,
    utc_offset integer not null,
    read_at text not null,
    unique (owner, path)
) strict;
create index document_hash on document (owner, hash);
create index document_collection on document (collection_id);

create table section (                          -- a piece of a document along its own structure; d12 names it
    id integer primary key autoincrement,
    owner text not null,
    document_id integer not null references document (id),
    position integer not null,                  -- from 0, in the order of the file
    line integer not null,                      -- where it begins, from 1
    page integer,                               -- of a PDF
    heading text not null default '',           -- headings above it, as in Router › Passwords
    text text not null,
    at text not null,                           -- the time of the file
    utc_offset integer not null
) strict;
create index section_document on section (document_id, position);

-- Schedules: prompts that run at set times.

create table schedule (
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    place text not null,                        -- where it runs
    cron text not null,                         -- five fields: minute, hour, day, month, weekday
    zone text not null,                         -- time zone of the fields
    prompt text not null default '',
    skill text not null default '',             -- or the name of a skill to run
    model text not null default '',             -- empty: the model of the settings
    target text not null default 'note',        -- where the answer goes: note, file, command
    target_path text not null default '',       -- the file, or the command as a JSON array
    next_at text not null,                      -- when it is due; in the past: missed, to be run once
    running_since text,
    holder text,                                -- the process that runs it
    last_at text,                               -- when the last run began
    last_session integer references session (id),
    error text not null default '',             -- of the last run; empty: it succeeded
    paused_at text,
    at text not null,
    utc_offset integer not null,
    hidden_at text
) strict;
create index schedule_next on schedule (owner, next_at) where hidden_at is null;

-- Callers: other programs that use this memory over HTTP. Each is an owner.

create table caller (
    id integer primary key autoincrement,
    uid text not null unique,
    name text not null unique,
    hash text not null unique,                  -- SHA-256 of its token, which is shown once and not stored
    owner text not null,                        -- whose memory it uses: its own, caller:NAME, or by grant the person's
    may text not null default 'read write',     -- permissions
    at text not null,
    utc_offset integer not null,
    seen_at text,                               -- its last request
    revoked_at text
) strict;

create table answered (                         -- by what callers know their sessions
    id integer primary key autoincrement,
    owner text not null,
    key text not null,                          -- a hash of all that was said
    hash text not null,                         -- empty; older programs: of the request that was answered
    session_id integer not null references session (id),
    message_id integer references message (id), -- the last of what was said
    lines text not null default '{}',           -- empty; older programs: notices and receipts, as JSON
    at text not null,
    unique (owner, key)
) strict;
create index answered_session on answered (session_id);
create index answered_message on answered (message_id) where message_id is not null;

create table prompt (                           -- prompt history, for the arrow keys
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    place text not null,
    session_id integer,
    text text not null,
    pasted text not null default '[]',          -- [[start, length], …] of pasted text
    at text not null
) strict;
create index prompt_recent on prompt (owner, id);

create table recollection (                     -- what was recalled for a message, and why
    id integer primary key autoincrement,
    message_id integer not null references message (id),
    kind text not null,                         -- empty: the verdict
    row integer not null,
    score real not null,
    legs text not null,                         -- {leg: share of the score}
    text text not null,                         -- as the model saw it
    at text not null
) strict;
create index recollection_message on recollection (message_id, id);

-- Changes for the person's other machines (store/changes.py). Empty until `agent sync` is used.

create table sync_state (
    id integer primary key check (id = 1),
    clock integer not null,                     -- the highest stamp so far: milliseconds since 1970, or one more each
    applying integer not null default 0,        -- 1 while rows of another machine are written
    removing integer not null default 0         -- 1 while retention deletes, which other machines do not follow
) strict;

create table sync_unsent (                      -- rows to be written into the next segment
    id integer primary key autoincrement,
    kind text not null,
    uid text not null,
    unique (kind, uid)
) strict;

create table sync_change (                      -- columns that have changed since their row was created
    uid text not null,
    name text not null,
    stamp integer not null,                     -- the higher one is in force
    base integer not null,                      -- the stamp that was sent before it; 0: none
    local integer not null,                     -- whether it was changed on this machine
    primary key (uid, name)
) strict, without rowid;

create table sync_deleted (                        -- rows that were deleted, and are not taken again
    uid text primary key,
    kind text not null,
    everywhere integer not null                 -- 0: by retention, on this machine alone
) strict, without rowid;

create table sync_alias (                       -- two rows that turned out to be the same
    uid text primary key,
    canonical text not null
) strict, without rowid;
create index sync_alias_canonical on sync_alias (canonical);

create table sync_position (                    -- the last segment of each machine that was read or written
    machine text primary key,
    number integer not null
) strict, without rowid;

create table sync_waiting (                     -- rows that refer to others which have not come yet
    id integer primary key autoincrement,
    kind text not null,
    uid text not null,
    data text not null
) strict;

create table sync_unsettled (                   -- rows of another machine of which nothing has followed yet
    kind text not null,
    row integer not null,
    primary key (kind, row)
) strict, without rowid;

-- Derived: dropped and rebuilt at will. The word, trigram and vector tables are created by memory/search/word_tables.py
-- and memory/search/vectors.py, under names that are stored in meta, so that a damaged one can be abandoned.

create table passage (                          -- a piece of text that can be found
    id integer primary key autoincrement,
    kind text not null,                         -- m message, n note, f fact, y summary, k skill, d section of a document
    row integer not null,                       -- the id there
    start integer not null default 0,           -- of a long text: the number of its piece
    length integer not null,
    area integer not null references area (id),
    session_id integer,
    author text not null default '',
    at integer not null,                        -- seconds since 1970
    day integer not null references day (id),
    facts text,                                 -- facts accepted from this message
    grams text,                                 -- pairs of characters, for scripts without spaces
    masked text,                                -- its text without secrets, when it holds any
    text text                                   -- its text, when it is a piece of a long one
) strict;
create unique index passage_row on passage (kind, row, start);
create index passage_said on passage (session_id, row, start) where kind = 'm';

create table speaker (name text primary key) strict, without rowid;
create table area (id integer primary key, owner text not null, place text not null, unique (owner, place)) strict;
create table day (id integer primary key, words text not null) strict;  -- id: days since 1970, in the person's time zone

create table stale (                            -- rows to be indexed again
    kind text not null,
    row integer not null,
    tail integer not null default 0,            -- 1: of a long text, whose first portion is indexed, the rest
    primary key (kind, row)
) strict, without rowid;

create view passage_text as
    select p.id,
        coalesce(p.masked, p.text, case p.kind
            when 'm' then (select substr(text, p.start + 1, p.length) from message where id = p.row)
            when 'n' then (select substr(iif(title = '', '', title || char(10)) || text, p.start + 1, p.length) from note where id = p.row)
            when 'f' then (select statement from fact where id = p.row)
            when 'y' then (select substr(iif(details = '', text, text || char(10) || details), p.start + 1, p.length)
                           from summary where id = p.row)
            when 'k' then (select substr(text, p.start + 1, p.length) from skill where id = p.row)
            when 'd' then (select substr(iif(heading = '', '', heading || char(10)) || text, p.start + 1, p.length) from section where id = p.row)
        end) as own,
        p.author,
        (select words from day where id = p.day) as date,
        p.facts,
        p.grams
    from passage p;

-- A text is removed from an index by passing the indexed text again, so before the text changes (index.erase).
create trigger note_indexed before update of text, title on note
    when exists (select 1 from passage where kind = 'n' and row = old.id)
    begin select raise(abort, 'erase the note from the index before it changes'); end;
create trigger summary_indexed before update of text, details on summary
    when exists (select 1 from passage where kind = 'y' and row = old.id)
    begin select raise(abort, 'erase the summary from the index before it changes'); end;
create trigger skill_indexed before update of text on skill
    when old.text <> new.text and exists (select 1 from passage where kind = 'k' and row = old.id)
    begin select raise(abort, 'erase the skill from the index before it changes'); end;
create trigger section_indexed before update of text, heading on section
    when exists (select 1 from passage where kind = 'd' and row = old.id)
    begin select raise(abort, 'erase the section from the index before it changes'); end;
create trigger fact_indexed before update of statement on fact
    when old.statement <> new.statement and exists (select 1 from passage where kind = 'f' and row = old.id)
    begin select raise(abort, 'erase the fact from the index before it changes'); end;
create trigger message_indexed before update of text on message
    when old.text <> new.text and exists (select 1 from passage where kind = 'm' and row = old.id)
    begin select raise(abort, 'erase the message from the index before it changes'); end;

-- Not `or ignore`: an upsert of the row would override that, and fail where it is stale already.
create trigger message_stale_new after insert on message
    when new.finish is not null and new.role in ('user', 'assistant') and new.text <> ''
    begin insert into stale (kind, row) values ('m', new.id) on conflict do update set tail = 0; end;
create trigger message_stale after update of text, finish, undone_at on message
    when new.finish is not null and new.role in ('user', 'assistant')
    begin insert into stale (kind, row) values ('m', new.id) on conflict do update set tail = 0; end;
create trigger note_stale_new after insert on note begin insert into stale (kind, row) values ('n', new.id) on conflict do update set tail = 0; end;
create trigger note_stale after update of text, title on note begin insert into stale (kind, row) values ('n', new.id) on conflict do update set tail = 0; end;
create trigger summary_stale_new after insert on summary begin insert into stale (kind, row) values ('y', new.id) on conflict do update set tail = 0; end;
create trigger summary_stale after update of text, details, last_at on summary begin insert into stale (kind, row) values ('y', new.id) on conflict do update set tail = 0; end;
create trigger skill_stale_new after insert on skill begin insert into stale (kind, row) values ('k', new.id) on conflict do update set tail = 0; end;
create trigger skill_stale after update on skill begin insert into stale (kind, row) values ('k', new.id) on conflict do update set tail = 0; end;
create trigger section_stale_new after insert on section begin insert into stale (kind, row) values ('d', new.id) on conflict do update set tail = 0; end;
create trigger section_stale after update of text, heading on section begin insert into stale (kind, row) values ('d', new.id) on conflict do update set tail = 0; end;
create trigger fact_stale_new after insert on fact begin
    insert into stale (kind, row) values ('f', new.id) on conflict do update set tail = 0;
    insert into stale (kind, row) select 'm', new.message_id where new.message_id is not null on conflict do update set tail = 0;
end;
create trigger fact_stale after update on fact begin
    insert into stale (kind, row) values ('f', new.id) on conflict do update set tail = 0;
    insert into stale (kind, row) select 'm', new.message_id where new.message_id is not null on conflict do update set tail = 0;
    insert into stale (kind, row) select 'm', message_id from fact_source where fact_id = new.id on conflict do update set tail = 0;
end;
create trigger fact_source_stale after insert on fact_source begin
    insert into stale (kind, row) values ('m', new.message_id) on conflict do update set tail = 0;
end;

create table fact_mark (                        -- marks by which nearly identical facts are found
    hash integer not null,
    fact_id integer not null,
    primary key (hash, fact_id)
) strict, without rowid;
create index fact_mark_fact on fact_mark (fact_id);

create table entity (id integer primary key, owner text not null, name text not null, unique (owner, name)) strict;
create table alias (                            -- the names of entities, case and accents folded
    owner text not null,
    folded text not null,
    entity_id integer not null references entity (id),
    primary key (owner, folded, entity_id)
) strict, without rowid;
create table relation (                         -- of an accepted fact: subject, predicate, object
    fact_id integer primary key,
    subject_id integer not null references entity (id),
    predicate text not null,
    object_id integer not null references entity (id)
) strict;
create index relation_subject on relation (subject_id);
create index relation_predicate on relation (subject_id, predicate);
create index relation_object on relation (object_id);
