"""The servers of models that the tests run with: Ollama's API and /v1, in front of the same scripted replies."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatch

from tests.ollama_server.registry import Model
from tests.ollama_server.server import OllamaServer
from tests.v1_server import V1Server

SERVERS = ("ollama", "openai")

# Why a test that has a server runs with Ollama's alone, and the tests, by file and name.
_REASONS = {
    # about Ollama's own API
    "the scripted server itself": "test_ollama_server.py::*",
    "the client of Ollama's API": "llm/ollama/*",
    "the client of /v1, which has a server of its own kind": "llm/openai/*",
    "the parser, which both clients share, fed by one of them": "llm/test_repair.py::*",
    "what only /v1 asks of a person, with a server of its own kind": "e2e/test_v1.py::*",
    "the models that Ollama lists, pulls and has elsewhere": "e2e/test_commands.py::*",
    "the first model is pulled": "repl/test_first_run.py::*",
    "the digest of a model, which tells that it was changed": "agent/test_embedder_selection.py::test_a_model_that_*",
    "what a model can do is listed": "agent/test_embedder_selection.py::test_a_model_with_a_name_that_tells_nothing*",
    "the digest of a model": "agent/test_embedder_selection.py::test_while_the_vectors_of_a_changed_model_*",
    "the lines of a stream": (
        "e2e/test_misbehaviour.py::test_half_a_character_* "
        "e2e/test_misbehaviour.py::test_what_no_server_should_send_* "
        "e2e/test_server.py::test_an_answer_arrives_however_its_lines_are_cut"
    ),
    "num_ctx, truncate and shift of a request": "e2e/test_network.py::test_every_request_has_the_same_context_*",
    "the command that pulls a model": "e2e/test_server.py::test_a_missing_model_*",
    "models that the server has elsewhere": "e2e/test_server.py::test_a_model_in_the_cloud_*",
    "a model without thinking refuses `think`": "e2e/test_server.py::test_a_model_without_tools_and_thinking_*",
    "num_ctx of a request": "repl/commands/test_setting_commands.py::test_set_shows_and_changes_*",
    "drawing, and which models are loaded": "repl/shell/test_turn_renderer.py::*",
    # about the program
    "search while vectors are replaced": "agent/test_embedder_selection.py::test_a_switch_in_the_middle_*",
    "where a new tool or command belongs": "test_adding.py::*",
    "who may say yes, whatever a text says": "test_attacks.py::*",
    "the commands of README": "test_docs.py::*",
    "what a command imports": "test_imports.py::*",
    "what a recalled text may do": "test_injection.py::*",
    "how the tests start the program": "test_helpers.py::*",
    "which session goes on": "e2e/test_ask.py::test_a_*session_* e2e/test_ask.py::test_the_latest_session_* "
    "e2e/test_continue.py::*",
    "the options of `ask`": "e2e/test_ask_forms.py::*",
    "who may allow a call": "e2e/test_ask_approval.py::*",
    "what a session begins with": "e2e/test_carry_over.py::*",
    "what a killed process leaves in the file": "e2e/test_crash.py::*",
    "the file": "e2e/test_db.py::*",
    "documents": "e2e/test_documents.py::*",
    "drawing": "e2e/test_dumb.py::* e2e/test_output.py::*",
    "facts and their review": "e2e/test_facts.py::*",
    "which process runs a job": "e2e/test_first_word.py::test_running_jobs_*",
    "the hooks of other tools, and editors": "e2e/test_hook.py::* e2e/test_acp.py::*",
    "the priority of a process": "e2e/test_first_word.py::test_what_is_left_*",
    "what is forgotten with a message": "e2e/test_forget_related.py::*",
    "what is not kept": "e2e/test_incognito.py::* e2e/test_undo.py::test_incognito_*",
    "what is read of the input": "e2e/test_input.py::*",
    "what is kept without a model": (
        "e2e/test_learning.py::test_each_sentence_* e2e/test_learning.py::test_remember_that_at_* "
        "e2e/test_learning.py::test_remember_that_in_* e2e/test_learning.py::test_remember_that_through_* "
        "e2e/test_learning.py::test_what_was_pasted_*"
    ),
    "the servers of tools": "e2e/test_mcp.py::*",
    "notes": "e2e/test_notes.py::*",
    "what may become a skill": "e2e/test_learning.py::test_nothing_that_demands_*",
    "what words for a time mean": "e2e/test_relative_times.py::*",
    "the review at a terminal": "e2e/test_review.py::*",
    "schedules": "e2e/test_schedule.py::*",
    "what is drawn": "e2e/test_screens.py::*",
    "search in the file": "e2e/test_search.py::*",
    "processes that serve": "e2e/test_serve.py::*",
    "the list of sessions": "e2e/test_sessions.py::test_a_session_is_[!c]* e2e/test_sessions.py::test_sessions_are_*",
    "what is exported": "e2e/test_sessions.py::test_export_* e2e/test_sessions.py::test_what_is_exported_*",
    "skills": "e2e/test_skills.py::*",
    "the output": (
        "e2e/test_stop.py::test_a_full_disk_* e2e/test_stop.py::test_a_reader_that_was_* "
        "e2e/test_stop.py::test_errors_*"
    ),
    "what a command takes": "e2e/test_summaries.py::test_what_cannot_be_done_*",
    "tasks": "e2e/test_tasks.py::*",
    "clock and zone": "e2e/test_time.py::*",
    "drawing of what is typed": "e2e/test_typing.py::*",
    "what is typed while an answer comes": "e2e/test_typing_ahead.py::*",
    "the tools": "e2e/test_tools.py::*",
    "what is taken back": (
        "e2e/test_undo.py::test_what_is_undone_* repl/commands/test_exchange_commands.py::test_undo_*"
    ),
    "when a beginning is read again": "e2e/test_warming.py::test_after_*",
    "whether a beginning is read": "e2e/test_warming.py::test_nothing_is_read_*",
    "what is typed again": (
        "repl/commands/test_exchange_commands.py::test_an_edit* "
        "repl/commands/test_exchange_commands.py::test_edit_* "
        "repl/commands/test_exchange_commands.py::test_the_editor_*"
    ),
    "the prompt: keys and drawing": "repl/shell/test_shell.py::*",
    "the gate of the server over HTTP": "serve/test_attacks.py::* serve/test_gate.py::*",
    "what a caller asks": "serve/test_completions.py::test_what_cannot_be_done_*",
    "search over HTTP": "serve/test_search.py::*",
}
OLLAMA_ALONE = {row: why for why, rows in _REASONS.items() for row in rows.split()}


def started(name: str, models: Sequence[Model]) -> OllamaServer:
    """A server of this kind; the one of /v1 wants a key."""
    return V1Server(models, key="a-key-of-mine") if name == "openai" else OllamaServer(models)


def reasons(test: str) -> Iterator[str]:
    """The rows of the table that name a test; "e2e/test_ask.py::test_it" of the folder of the tests."""
    return (row for row in OLLAMA_ALONE if fnmatch(test, row))
