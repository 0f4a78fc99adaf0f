"""The lineage of notes, tasks and schedules.

A task that a model made in an exchange is erased with it; tasks made by the person are kept.
"""

from agent_cli import clock
from agent_cli.memory import lineage
from agent_cli.memory.lineage import Copy, Owner, Table, Walk
from agent_cli.memory.planner import notes, schedules, tasks
from agent_cli.store.db import Database

_TABLES = (
    Table(
        "note",
        text_columns="place title text",
        other_columns="uid owner origin at changed_at hidden_at",
        letter="n",
        counts={("notes", "note"): "true"},
        line="iif(title = '', text, title)",
        mentions=lineage.mentions_topic("title", "text"),
        stated_text=lineage.joined("title", "text"),
        personal_texts=("title, text",),
        statements=("text",),
        remembered=("text",),
    ),
    Table(
        "task",
        text_columns="place text told",
        other_columns="uid owner origin due_at zone repeats starts state snoozed_to reminded_at done_at at changed_at "
        "hidden_at",
        letter="t",
        counts={("tasks", "task"): "true"},
        line="text",
        mentions=lineage.mentions_topic("text", "told"),
        stated_text=lineage.joined("text", "told"),
        personal_texts=("text, told",),
        statements=("text",),
        made_from={
            "message": "origin = 'model' and message_id {ids}",
            "session": "origin = 'model' and message_id is null and session_id {ids}",  # its message went before
        },
    ),
    Table(
        "schedule",
        text_columns="place prompt skill target_path error",
        other_columns="uid owner cron zone model target next_at running_since holder last_at paused_at at hidden_at",
        letter="c",
        counts={("schedules", "schedule"): "true"},
        line="cron || '  ' || iif(skill = '', prompt, skill)",
        mentions=lineage.mentions_topic("prompt", "skill", "target_path"),
        stated_text=lineage.joined("prompt", "skill", "target_path"),
        personal_texts=(
            "prompt, iif(target = 'command', '', target_path)",
            "select value from schedule, json_each(target_path) where target = 'command' and schedule.id {ids}",
        ),
        other_texts=("skill, error",),
    ),
)


def _erase(db: Database, walk: Walk, time: clock.Clock) -> None:
    notes.erase(db, walk["note"])
    tasks.erase(db, walk["task"])
    schedules.erase(db, walk["schedule"])
    notes.detach(db, walk["session"])
    tasks.detach(db, walk["session"], walk["message"])
    schedules.detach(db, walk["session"])


_ERRORS = Copy("errors of schedules", "error of a schedule", "schedule", "error", schedules.blank_errors)
PLANS = Owner(_TABLES, _erase, copies=(_ERRORS,))
