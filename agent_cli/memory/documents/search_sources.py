"""SQL for searching the sections of files."""

from agent_cli.memory.search_sources import SearchSource

SOURCES = {
    "section": SearchSource(
        passages="""select d.id, d.owner, o.place, null, '', d.at, d.utc_offset,
                   iif(heading = '', '', heading || char(10)) || d.text, null
            from json_each(?) c cross join section d on d.id = c.value join document f on f.id = d.document_id
            join collection o on o.id = f.collection_id"""
    )
}
