"""SQL for searching messages and completing sessions."""

from agent_cli.memory.search_sources import SearchSource

# Facts that end on a date are not indexed with the message, because nothing would update it.
_MESSAGES = """select m.id, s.owner, s.place, m.session_id, m.author, m.at, m.utc_offset, m.text,
                   (select nullif(json_group_array(json_array(statement, predicate)), '[]') from fact
                    where id in (select id from fact where message_id = m.id
                                 union select fact_id from fact_source where message_id = m.id)
                      and +owner = s.owner and +state = 'accepted' and valid_to is null and hidden_at is null
                      and session_id is null)
            from json_each(?) c cross join message m on m.id = c.value join session s on s.id = m.session_id
            where m.finish is not null and m.role in ('user', 'assistant') and m.text <> '' and m.undone_at is null
              and m.model <> 'offline'"""  # the offline model only quotes

_SESSIONS = """select id, coalesce(nullif(title, ''), (select substr(text, 1, 200) from said
                                                       where session_id = s.id and role = 'user' order by id limit 1))
              from session s where owner = :owner and hidden_at is null {more}
                and exists (select 1 from said where session_id = s.id)"""

SOURCES = {
    "message": SearchSource(passages=_MESSAGES),
    "session": SearchSource(completions=_SESSIONS, order="last_at desc, id desc"),
}
