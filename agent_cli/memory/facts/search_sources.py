"""How facts are searched and completed: those that were accepted."""

from agent_cli.memory.search_sources import SearchSource

SOURCES = {
    "fact": SearchSource(
        passages="""select f.id, owner, place, session_id, '', learned_at, utc_offset, statement,
                   iif(predicate = '', null, json_array(json_array('', predicate)))
            from json_each(?) c cross join fact f on f.id = c.value where state = 'accepted'""",
        current="""hidden_at is null and state = 'accepted' and coalesce(valid_to > :now, true)
                   and (session_id is null or session_id = :within)""",
        completions="""select id, statement from fact
           where owner = :owner and state = 'accepted' and hidden_at is null {more}""",
    )
}
