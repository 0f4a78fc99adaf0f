"""SQL for searching summaries."""

from agent_cli.memory.search_sources import SearchSource

SOURCES = {
    "summary": SearchSource(
        passages="""select y.id, owner, place, session_id, '', coalesce(last_at, at), utc_offset,
                   iif(details = '', text, text || char(10) || details), null
            from json_each(?) c cross join summary y on y.id = c.value""",
        current="hidden_at is null",
    )
}
