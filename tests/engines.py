"""The servers of models that the tests run with: Ollama's API and /v1, in front of the same scripted replies."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatch

from tests.ollama_server.registry import Model
from tests.ollama_server.server import OllamaServer
from tests.v1_server import V1Server

SERVERS = ("ollama", "openai")

# The tests that have a server and run with Ollama's alone, by file and name, and why.
OLLAMA_ALONE = {
    # about Ollama's own API
    "ollama_server/*": "the scripted server itself",
    "test_ollama_server.py::*": "the scripted server itself",
    "llm/ollama/*": "the client of Ollama's API",
    "llm/openai/*": "the client of /v1, which has a server of its own kind",
    "llm/test_repair.py::*": "the parser, which both clients share, fed by one of them",
    "e2e/test_v1.py::*": "what only /v1 asks of a person, with a server of its own kind",
    "e2e/test_commands.py::*": "the models that Ollama lists, pulls and has elsewhere",
    "repl/test_first_run.py::*": "the first model is pulled",
    "agent/test_embedder_selection.py::test_a_model_that_*": "the digest of a model, which tells that it was changed",
    "agent/test_embedder_selection.py::test_a_model_with_a_name_that_tells_nothing*": "what a model can do is listed",
    "agent/test_embedder_selection.py::test_while_the_vectors_of_a_changed_model_*": "the digest of a model",
    "e2e/test_misbehaviour.py::test_half_a_character_*": "the lines of a stream",
    "e2e/test_misbehaviour.py::test_what_no_server_should_send_*": "the lines of a stream",
    "e2e/test_network.py::test_every_request_has_the_same_context_*": "num_ctx, truncate and shift of a request",
    "e2e/test_server.py::test_an_answer_arrives_however_its_lines_are_cut": "the lines of a stream",
    "e2e/test_server.py::test_a_missing_model_*": "the command that pulls a model",
    "e2e/test_server.py::test_a_model_in_the_cloud_*": "models that the server has elsewhere",
    "e2e/test_server.py::test_a_model_without_tools_and_thinking_*": "a model without thinking refuses `think`",
    "repl/commands/test_setting_commands.py::test_set_shows_and_changes_*": "num_ctx of a request",
    "repl/shell/test_turn_renderer.py::*": "drawing, and which models are loaded",
    # about the program
    "agent/test_embedder_selection.py::test_a_switch_in_the_middle_*": "search while vectors are replaced",
    "test_adding.py::*": "where a new tool or command belongs",
    "test_attacks.py::*": "who may say yes, whatever a text says",
    "test_docs.py::*": "the commands of README",
    "test_imports.py::*": "what a command imports",
    "test_injection.py::*": "what a recalled text may do",
    "test_warm.py::*": "how the tests start the program",
    "e2e/test_ask.py::test_a_*session_*": "which session goes on",
    "e2e/test_ask.py::test_the_latest_session_*": "which session goes on",
    "e2e/test_ask_forms.py::*": "the options of `ask`",
    "e2e/test_ask_approval.py::*": "who may allow a call",
    "e2e/test_carry_over.py::*": "what a session begins with",
    "e2e/test_continue.py::*": "which session goes on",
    "e2e/test_crash.py::*": "what a killed process leaves in the file",
    "e2e/test_db.py::*": "the file",
    "e2e/test_documents.py::*": "documents",
    "e2e/test_dumb.py::*": "drawing",
    "e2e/test_exit_codes.py::*": "the codes of the program",
    "e2e/test_facts.py::*": "facts and their review",
    "e2e/test_first_word.py::test_running_jobs_*": "which process runs a job",
    "e2e/test_first_word.py::test_what_is_left_*": "the priority of a process",
    "e2e/test_forget_related.py::*": "what is forgotten with a message",
    "e2e/test_hostile_tools.py::*": "drawing of what a tool gave",
    "e2e/test_incognito.py::*": "what is not kept",
    "e2e/test_input.py::*": "what is read of the input",
    "e2e/test_learning.py::test_each_sentence_*": "what is kept without a model",
    "e2e/test_learning.py::test_remember_that_at_*": "what is kept without a model",
    "e2e/test_learning.py::test_remember_that_in_*": "what is kept without a model",
    "e2e/test_learning.py::test_remember_that_through_*": "what is kept without a model",
    "e2e/test_learning.py::test_what_was_pasted_*": "what is kept without a model",
    "e2e/test_mcp.py::*": "the servers of tools",
    "e2e/test_notes.py::*": "notes",
    "e2e/test_output.py::*": "drawing",
    "e2e/test_reflection.py::test_nothing_that_demands_*": "what may become a skill",
    "e2e/test_relative_times.py::*": "what words for a time mean",
    "e2e/test_review.py::*": "the review at a terminal",
    "e2e/test_schedule.py::*": "schedules",
    "e2e/test_screens.py::*": "what is drawn",
    "e2e/test_search.py::*": "search in the file",
    "e2e/test_serve.py::*": "processes that serve",
    "e2e/test_sessions.py::test_a_session_is_[!c]*": "the list of sessions",
    "e2e/test_sessions.py::test_export_*": "what is exported",
    "e2e/test_sessions.py::test_resuming_*": "which session goes on",
    "e2e/test_sessions.py::test_sessions_are_*": "the list of sessions",
    "e2e/test_sessions.py::test_what_is_exported_*": "what is exported",
    "e2e/test_skills.py::*": "skills",
    "e2e/test_stop.py::test_a_full_disk_*": "the output",
    "e2e/test_stop.py::test_a_reader_that_was_*": "the output",
    "e2e/test_stop.py::test_errors_*": "the output",
    "e2e/test_summaries.py::test_a_summary_is_pinned_*": "which summaries are kept",
    "e2e/test_summaries.py::test_what_cannot_be_done_*": "what a command takes",
    "e2e/test_tasks.py::*": "tasks",
    "e2e/test_time.py::*": "clock and zone",
    "e2e/test_typing.py::*": "drawing of what is typed",
    "e2e/test_typing_ahead.py::*": "what is typed while an answer comes",
    "e2e/test_tools.py::*": "the tools",
    "e2e/test_undo.py::test_incognito_*": "what is not kept",
    "e2e/test_undo.py::test_what_is_undone_*": "what is taken back",
    "e2e/test_warming.py::test_after_*": "when a beginning is read again",
    "e2e/test_warming.py::test_nothing_is_read_*": "whether a beginning is read",
    "repl/commands/test_exchange_commands.py::test_an_edit*": "what is typed again",
    "repl/commands/test_exchange_commands.py::test_edit_*": "what is typed again",
    "repl/commands/test_exchange_commands.py::test_the_editor_*": "what is typed again",
    "repl/commands/test_exchange_commands.py::test_undo_*": "what is taken back",
    "repl/shell/test_shell.py::*": "the prompt: keys and drawing",
    "serve/test_attacks.py::*": "the gate of the server over HTTP",
    "serve/test_gate.py::*": "the gate of the server over HTTP",
    "serve/test_completions.py::test_what_cannot_be_done_*": "what a caller asks",
    "serve/test_search.py::*": "search over HTTP",
}


def started(name: str, models: Sequence[Model]) -> OllamaServer:
    """A server of this kind; the one of /v1 wants a key."""
    return V1Server(models, key="a-key-of-mine") if name == "openai" else OllamaServer(models)


def reasons(test: str) -> Iterator[str]:
    """The rows of the table that name a test; "e2e/test_ask.py::test_it" of the folder of the tests."""
    return (row for row in OLLAMA_ALONE if fnmatch(test, row))
