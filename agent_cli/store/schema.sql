-- The whole schema. `reconcile` (schema.py) brings any older file up to it; a column added later needs a default or null.
-- Every row: `id` is the handle a person types after a letter (m903), `uid` is sortable and unique across machines.
-- Times are UTC text with the local offset in minutes beside them. `owner` is "person" or, later, a caller.

-- Canonical: what was said, written and decided. Never dropped by the program.

create table session (
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    place text not null,                        -- git remote or folder it was started in
    kind text not null default 'chat',          -- chat; ask: a one-shot, not carried over; trial: one taken back when it ends
    title text not null default '',
    started_at text not null,
    utc_offset integer not null,
    last_at text not null,                      -- when something was last said
    opened_at text,                             -- when it was last taken up again
    closed_at text,
    hidden_at text,
    holder text,                                -- the process that has it open
    opening text,                               -- what was carried over at its start, as the model sees it
    read_to integer not null default 0,         -- the last message that was read for facts
    reflected_to integer not null default 0,    -- and for skills
    source text,                                -- where it was imported from, and its id there
    external_id text,
    pinned integer not null default 0           -- retention leaves its messages alone
) strict;
create unique index session_external on session (owner, source, external_id) where external_id is not null;
create index session_recent on session (owner, last_at);
create index session_open on session (last_at) where closed_at is null;

create table message (
    id integer primary key autoincrement,
    uid text not null unique,
    session_id integer not null references session (id),
    owner text not null,
    place text not null,                        -- where it was said; empty: where its session began
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
    external_id text,
    undone_at text,                             -- when it was taken back: it stays and counts no more
    undone_by integer                           -- the message that was said in its place
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
    place text not null,                        -- of a period empty: it tells of all places
    session_id integer unique references session (id),
    grain text not null default 'session',      -- session, day, week, month, quarter, year
    period text not null default '',            -- 2026-11-20, 2026-W47, 2026-11, 2026-Q4, 2026; of a session empty
    text text not null,
    details text not null default '',           -- numbers, paths, addresses, commands, dates, as they were said
    method text not null,                       -- model, or extract: done without one, to be done again
    model text not null default '',
    last_at text,                               -- the last moment it tells of; null: when it was made
    at text not null,
    utc_offset integer not null,
    pinned integer not null default 0,          -- retention leaves it alone
    hidden_at text
) strict;
create unique index summary_period on summary (owner, period) where period <> '';

create table summary_source (                   -- what each sentence of a summary comes from
    summary_id integer not null references summary (id),
    sentence integer not null,                  -- from 1; 0: the whole was made from it
    kind text not null,                         -- message, session, summary, fact
    row integer not null,                       -- there no more when retention took it: the sentence stays
    primary key (summary_id, sentence, kind, row)
) strict, without rowid;
create index summary_source_row on summary_source (kind, row);

create table rolling (                          -- what the model is told of the part of a session it no longer sees
    session_id integer primary key references session (id),
    up_to integer not null,                     -- the last message that was folded away
    text text not null,                         -- under 150 words
    details text not null default '',           -- numbers, paths, addresses, commands, dates, as they were said
    method text not null,                       -- model, or extract
    at text not null
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
create trigger event_is_kept before delete on event begin select raise(abort, 'the event log is append-only'); end;
create trigger event_is_append_only before update on event begin select raise(abort, 'the event log is append-only'); end;

-- About the file itself.

create table meta (key text primary key, value text not null) strict, without rowid;
create table migration (name text primary key, at text not null) strict, without rowid;

-- Facts: what is known about the person. (How they come to be accepted is the business of memory/adoption.py.)

create table fact (
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    place text not null default '',             -- empty: true everywhere
    session_id integer references session (id), -- true in this session alone
    statement text not null,
    subject text not null default '',           -- "person", or a name; empty: not taken apart
    predicate text not null default '',
    object text not null default '',
    state text not null,                        -- pending, accepted, rejected, superseded, expired
    operation text not null default 'insert',   -- what a yes does: insert, update (replaces the target), delete (ends it)
    target_id integer references fact (id),
    origin text not null,                       -- how it came in: typed, pasted, piped, file, tool, import, http, model
    trust text not null default '',             -- the origin least trusted of all it was made from
    inferred integer not null default 0,        -- its quote is not literally in a message of the person
    message_id integer references message (id), -- where it was said
    quote text not null default '',
    valid_from text,                            -- since when it is true; null: since it was learned
    valid_to text,
    learned_at text not null,
    decided_at text,
    expires_at text,
    utc_offset integer not null,
    source text,
    hidden_at text
) strict;
create index fact_message on fact (message_id) where message_id is not null;
create index fact_state on fact (owner, state, id);
create index fact_expires on fact (owner, expires_at) where expires_at is not null;
create index fact_hidden on fact (owner, id) where hidden_at is not null;
create index fact_target on fact (target_id) where target_id is not null;
create index fact_told on fact (owner, subject, predicate) where predicate <> '';
create unique index fact_imported on fact (owner, source, message_id, statement) where source is not null;

create table fact_source (                      -- further messages that say the same
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
    was text,                                   -- its columns as a JSON object; null: it was not there
    batch text not null,                        -- what was changed at once is undone at once
    actor text not null,
    undone integer not null default 0,
    at text not null,
    utc_offset integer not null
) strict;
create index fact_version_fact on fact_version (fact_id, id);
create index fact_version_batch on fact_version (batch);

create table forgotten (                        -- keyed hashes of what was erased, so that no import brings it back
    hash text primary key,
    at text not null
) strict, without rowid;

-- Skills: how something is done. (How they come to be accepted is the business of memory/skills.py.)

create table skill (
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    name text not null,                         -- small letters, digits and hyphens
    description text not null,                  -- what it does and when to use it
    text text not null,                         -- the whole SKILL.md, character by character
    version integer not null default 1,
    state text not null,                        -- pending, accepted, rejected, expired
    target_id integer references skill (id),    -- of a proposal: the skill it changes
    base integer,                               -- and the version of it that was used
    origin text not null,                       -- how it came in: typed, file, import, model
    trust text not null default '',             -- the origin least trusted of all it was made from
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
create unique index skill_name on skill (owner, name) where state = 'accepted' and hidden_at is null;

create table skill_version (                    -- a skill as it was before each change
    id integer primary key autoincrement,
    skill_id integer not null references skill (id),
    change text not null,                       -- added, proposed, accepted, rejected, edited, hidden, …
    was text,                                   -- its columns as a JSON object; null: it was not there
    batch text not null,                        -- what was changed at once is undone at once
    actor text not null,
    undone integer not null default 0,
    at text not null,
    utc_offset integer not null
) strict;
create index skill_version_skill on skill_version (skill_id, id);
create index skill_version_batch on skill_version (batch);

-- Tasks: what is to be done, and when the person wants to be reminded of it.

create table task (
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    place text not null,
    session_id integer references session (id), -- in which it was made
    message_id integer references message (id), -- of the person, by which the model was asked for it; null: made by hand
    origin text not null,                       -- how it came in: typed, piped, model, schedule, http, mcp
    text text not null,
    told text not null default '',              -- when, in the words that said it: every Monday 9:00
    due_at text,                                -- null: at no certain time
    zone text not null default '',              -- in which it is reckoned, as in Europe/Vienna
    repeats text not null default '',           -- an RRULE (RFC 5545) without its start: FREQ=WEEKLY;BYDAY=MO
    starts text not null default '',            -- where it repeats: its first time by the clocks of the zone, 2026-11-23T09:00
    state text not null default 'open',         -- open, done
    snoozed_to text,                            -- not reminded of before this
    reminded_at text,                           -- when it last came up
    reminded integer not null default 0,        -- how often it has come up since it fell due
    done_at text,                               -- of a repeated one: when it was last done
    at text not null,
    utc_offset integer not null,
    changed_at text not null,
    hidden_at text
) strict;
create index task_due on task (owner, due_at) where state = 'open' and hidden_at is null and due_at is not null;
create index task_recent on task (owner, state, id);
create index task_message on task (message_id) where message_id is not null;
create index task_session on task (session_id) where session_id is not null;

-- Documents: files of the person, read so that they can be found. The files stay theirs; these rows follow them.

create table collection (                       -- what was added: a file, a folder with all in it, or a glob
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    place text not null,
    pattern text not null,                      -- absolute
    at text not null,
    utc_offset integer not null,
    synced_at text,                             -- when all of it was last looked at
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
    hash text not null default '',              -- SHA-256 of its bytes; empty: it was not read to its end
    title text not null default '',
    error text not null default '',             -- why nothing of it can be found
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
    heading text not null default '',           -- those above it, as in Router › Passwords
    text text not null,
    at text not null,                           -- the time of the file
    utc_offset integer not null
) strict;
create index section_document on section (document_id, position);

-- Schedules: prompts that are run by the clock.

create table schedule (
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    place text not null,                        -- where it runs
    cron text not null,                         -- five fields: minute, hour, day, month, weekday
    zone text not null,                         -- in which they are reckoned
    prompt text not null default '',
    skill text not null default '',             -- or the name of a skill that is carried out
    model text not null default '',             -- empty: the model of the settings
    target text not null default 'note',        -- where the answer goes: note, file, command
    target_path text not null default '',       -- the file, or the command as a JSON array
    next_at text not null,                      -- when it is due; in the past: missed, and made up once
    running_since text,
    holder text,                                -- the process that runs it
    last_at text,                               -- when it last began
    last_session integer references session (id),
    error text not null default '',             -- of the last run; empty: it went well
    paused_at text,
    at text not null,
    utc_offset integer not null,
    hidden_at text
) strict;
create index schedule_next on schedule (owner, next_at) where hidden_at is null;

-- Callers: other programs that reach this memory over HTTP. Each is an owner of its own.

create table caller (
    id integer primary key autoincrement,
    uid text not null unique,
    name text not null unique,
    hash text not null unique,                  -- SHA-256 of its token; the token itself is shown once and kept nowhere
    owner text not null,                        -- whose memory it reaches: its own, caller:NAME, or by grant the person's
    may text not null default 'read write',     -- what it may do with it
    at text not null,
    utc_offset integer not null,
    seen_at text,                               -- when it last came
    revoked_at text
) strict;

create table answered (                         -- requests of callers that are not carried out twice
    id integer primary key autoincrement,
    owner text not null,
    key text not null,                          -- as the caller made it up
    hash text not null,                         -- of the request: the same key with another one is a mistake
    session_id integer not null references session (id),
    message_id integer references message (id), -- the reply; null while it is being made
    at text not null,
    unique (owner, key)
) strict;
create index answered_session on answered (session_id);
create index answered_message on answered (message_id) where message_id is not null;

create table fact_test (                        -- questions whose answer must mention something
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    question text not null,
    mention text not null,
    at text not null
) strict;

create table prompt (                           -- what was typed at the prompt, for the arrow keys
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    place text not null,
    session_id integer,
    text text not null,
    pasted text not null default '[]',          -- [[start, length], …] of what was not typed
    at text not null
) strict;
create index prompt_recent on prompt (owner, id);

-- Derived: dropped and rebuilt at will. The word, trigram and vector tables are made by memory/index.py and
-- memory/vectors.py, under names that stand in meta, so that a damaged one can be left behind.

create table passage (                          -- a piece of text that can be found
    id integer primary key autoincrement,
    kind text not null,                         -- m message, n note, f fact, y summary, k skill, d section of a document
    row integer not null,                       -- the id there
    start integer not null default 0,           -- of a long text: which piece of it
    length integer not null,
    area integer not null references area (id),
    session_id integer,
    author text not null default '',
    at integer not null,                        -- seconds since 1970
    day integer not null references day (id),
    facts text,                                 -- what was accepted as fact from this message
    grams text,                                 -- pairs of characters, of scripts without spaces
    masked text                                 -- its text where that holds a secret: without it
) strict;
create unique index passage_row on passage (kind, row, start);
create index passage_said on passage (session_id, row, start) where kind = 'm';

create table speaker (name text primary key) strict, without rowid;
create table area (id integer primary key, owner text not null, place text not null, unique (owner, place)) strict;
create table day (id integer primary key, words text not null) strict;  -- id: days since 1970, in the person's time zone

create table stale (kind text not null, row integer not null, primary key (kind, row)) strict, without rowid;

create view passage_text as
    select p.id,
        case when p.masked is not null then p.masked else case p.kind
            when 'm' then (select substr(text, p.start + 1, p.length) from message where id = p.row)
            when 'n' then (select substr(iif(title = '', '', title || char(10)) || text, p.start + 1, p.length) from note where id = p.row)
            when 'f' then (select statement from fact where id = p.row)
            when 'y' then (select substr(iif(details = '', text, text || char(10) || details), p.start + 1, p.length)
                           from summary where id = p.row)
            when 'k' then (select substr(text, p.start + 1, p.length) from skill where id = p.row)
            when 'd' then (select substr(iif(heading = '', '', heading || char(10)) || text, p.start + 1, p.length) from section where id = p.row)
        end end as own,
        p.author,
        (select words from day where id = p.day) as date,
        p.facts,
        p.grams
    from passage p;

-- An index forgets a text by being told it once more: so it must be told before the text changes (index.erase).
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
    begin insert into stale values ('m', new.id) on conflict do nothing; end;
create trigger message_stale after update of text, finish, undone_at on message
    when new.finish is not null and new.role in ('user', 'assistant')
    begin insert into stale values ('m', new.id) on conflict do nothing; end;
create trigger note_stale_new after insert on note begin insert into stale values ('n', new.id) on conflict do nothing; end;
create trigger note_stale after update of text, title on note begin insert into stale values ('n', new.id) on conflict do nothing; end;
create trigger summary_stale_new after insert on summary begin insert into stale values ('y', new.id) on conflict do nothing; end;
create trigger summary_stale after update of text, details, last_at on summary begin insert into stale values ('y', new.id) on conflict do nothing; end;
create trigger skill_stale_new after insert on skill begin insert into stale values ('k', new.id) on conflict do nothing; end;
create trigger skill_stale after update on skill begin insert into stale values ('k', new.id) on conflict do nothing; end;
create trigger section_stale_new after insert on section begin insert into stale values ('d', new.id) on conflict do nothing; end;
create trigger section_stale after update of text, heading on section begin insert into stale values ('d', new.id) on conflict do nothing; end;
create trigger fact_stale_new after insert on fact begin
    insert into stale values ('f', new.id) on conflict do nothing;
    insert into stale select 'm', new.message_id where new.message_id is not null on conflict do nothing;
end;
create trigger fact_stale after update on fact begin
    insert into stale values ('f', new.id) on conflict do nothing;
    insert into stale select 'm', new.message_id where new.message_id is not null on conflict do nothing;
    insert into stale select 'm', message_id from fact_source where fact_id = new.id on conflict do nothing;
end;
create trigger fact_source_stale after insert on fact_source begin
    insert into stale values ('m', new.message_id) on conflict do nothing;
end;

create table fact_mark (                        -- by which facts that say nearly the same are found
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
create table relation (                         -- of an accepted fact: who, what, whom
    fact_id integer primary key,
    subject_id integer not null references entity (id),
    predicate text not null,
    object_id integer not null references entity (id)
) strict;
create index relation_subject on relation (subject_id);
create index relation_object on relation (object_id);

create table recollection (                     -- what was recalled for a message of the person, and why
    id integer primary key autoincrement,
    message_id integer not null references message (id),
    kind text not null,
    row integer not null,
    score real not null,
    legs text not null,                         -- {leg: share of the score}
    text text not null,                         -- as the model was shown it
    at text not null
) strict;
create index recollection_message on recollection (message_id, id);
