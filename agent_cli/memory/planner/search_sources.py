"""SQL for searching notes, and completing notes and tasks."""

from agent_cli.memory.search_sources import SearchSource

SOURCES = {
    "note": SearchSource(
        passages="""select n.id, owner, place, session_id, '', at, utc_offset,
                   iif(title = '', '', title || char(10)) || text, null
            from json_each(?) c cross join note n on n.id = c.value""",
        current="hidden_at is null",
        completions="""select id, iif(title = '', substr(text, 1, 200), title) from note
           where owner = :owner and hidden_at is null {more}""",
        order="changed_at desc, id desc",
    ),
    "task": SearchSource(
        completions="""select id, text from task
           where owner = :owner and state = 'open' and hidden_at is null {more}"""
    ),
}
