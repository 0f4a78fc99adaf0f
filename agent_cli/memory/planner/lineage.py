"""Notes, tasks and schedules, as forgetting sees them.

A task that a model made in an exchange goes with it; what the person made by hand stays.
"""

from agent_cli import clock
from agent_cli.memory import lineage, tombstones
from agent_cli.memory.lineage import Copy, Table, Walk
from agent_cli.memory.planner import notes, schedules, tasks
from agent_cli.store.db import Database

TABLES = (
    Table(
        "note",
        words="place title text",
        wordless="uid owner origin at changed_at hidden_at",
        letter="n",
        counts={("notes", "note"): "true"},
        line="iif(title = '', text, title)",
        mentions=lineage.says("title", "text"),
        says=lineage.joined("title", "text"),
        personal_texts=("select title, text from note where id {ids}",),
        statements=("select text from note where id {ids}",),
    ),
    Table(
        "task",
        words="place text told",
        wordless="uid owner origin due_at zone repeats starts state snoozed_to reminded_at done_at at changed_at "
        "hidden_at",
        letter="t",
        counts={("tasks", "task"): "true"},
        line="text",
        mentions=lineage.says("text", "told"),
        says=lineage.joined("text", "told"),
        personal_texts=("select text, told from task where id {ids}",),
        statements=("select text from task where id {ids}",),
    ),
    Table(
        "schedule",
        words="place prompt skill target_path error",
        wordless="uid owner cron zone model target next_at running_since holder last_at paused_at at hidden_at",
        letter="c",
        counts={("schedules", "schedule"): "true"},
        line="cron || '  ' || iif(skill = '', prompt, skill)",
        mentions=lineage.says("prompt", "skill", "target_path"),
        says=lineage.joined("prompt", "skill", "target_path"),
        personal_texts=(
            "select prompt, iif(target = 'command', '', target_path) from schedule where id {ids}",
            "select value from schedule, json_each(target_path) where target = 'command' and schedule.id {ids}",
        ),
        other_texts=("select skill, error from schedule where id {ids}",),
    ),
)
COPIES = (Copy("errors of schedules", "error of a schedule", "schedule", "error", schedules.blank_errors),)


def derive(db: Database, walk: Walk) -> None:
    """Tasks that a model made in exchanges that go."""
    by_model = "select id from task where origin = 'model'"
    walk.add("task", lineage.column(db, f"{by_model} and message_id {{ids}}", walk["message"]))
    went_before = f"{by_model} and message_id is null and session_id {{ids}}"  # retention took its message
    walk.add("task", lineage.column(db, went_before, walk["session"]))


def erase(db: Database, walk: Walk, time: clock.Clock) -> None:
    texts = lineage.texts(db, ("select text from note where id {ids}",), walk["note"])
    tombstones.remember(db, texts, time(), walk.names.owner)
    notes.erase(db, walk["note"])
    tasks.erase(db, walk["task"])
    schedules.erase(db, walk["schedule"])
    notes.leave(db, walk["session"])
    tasks.leave(db, walk["session"], walk["message"])
    schedules.leave(db, walk["session"])
