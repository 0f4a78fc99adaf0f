"""Which columns hold words. Forgetting walks them all; a test compares both lists with the schema, column by column."""

WORDS = {
    "session": "place title opening source external_id",
    "message": "place author text parts thinking answers tool external_id",
    "tool_call": "call_id arguments",
    "jotting": "text",
    "note": "place title text",
    "summary": "place text details",
    "skill": "name description text",
    "skill_version": "was",
    "rolling": "text details",
    "job": "error",
    "fact": "place statement subject predicate object quote source",
    "fact_source": "quote",
    "fact_version": "was",
    "fact_test": "question mention",
    "prompt": "place text",
    "recollection": "text",
    "passage": "author facts grams masked",  # derived, like all that follow
    "speaker": "name",
    "area": "place",
    "entity": "name",
    "alias": "folded",
    "relation": "predicate",
}

WORDLESS = {  # ids, times, states, names of programs and models
    "session": "uid owner kind started_at last_at opened_at closed_at hidden_at holder",
    "message": "uid owner role finish model at undone_at",
    "tool_call": "uid name",
    "jotting": "uid at",
    "note": "uid owner origin at changed_at hidden_at",
    "summary": "uid owner grain period method model last_at at hidden_at",
    "summary_source": "kind",
    "skill": "uid owner state origin trust at changed_at decided_at hidden_at",
    "skill_version": "change batch actor at",
    "rolling": "method at",
    "job": "uid kind subject state due_at lease_until holder at finished_at",
    "event": "uid kind actor subject hash at",
    "meta": "key value",
    "migration": "name at",
    "fact": "uid owner state operation origin trust valid_from valid_to learned_at decided_at expires_at hidden_at",
    "fact_source": "at",
    "fact_version": "change batch actor at",
    "forgotten": "hash at",
    "fact_test": "uid owner at",
    "prompt": "uid owner pasted at",
    "recollection": "kind legs at",
    "passage": "kind",
    "area": "owner",
    "day": "words",  # of a date
    "stale": "kind",
    "entity": "owner",
    "alias": "owner",
}

DERIVED = ("passage", "speaker", "area", "entity", "alias", "relation")
