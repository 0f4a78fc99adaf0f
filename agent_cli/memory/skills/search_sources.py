"""How skills are searched and completed: those that were accepted, in every place."""

from agent_cli.memory.search_sources import SearchSource

SOURCES = {
    "skill": SearchSource(
        passages="""select k.id, owner, '', null, '', changed_at, utc_offset, text, null
            from json_each(?) c cross join skill k on k.id = c.value where state = 'accepted'""",
        current="hidden_at is null and state = 'accepted'",
        completions="""select id, name || ': ' || description from skill
           where owner = :owner and state = 'accepted' and hidden_at is null {more}""",
    )
}
