"""Every error that a person can meet.

AgentError                 1
    UsageError             2
        ConfigError        2
    ModelUnavailable       3
    ModelMissing           4
    ContextExceeded        5
    StoreError             6
        StoreBusy          6
    TimedOut               7
    TracesLeft             8
    ModelFailed            1
    Cancelled            130
"""


class AgentError(Exception):
    """Base of all. Its text is the whole message shown: what happened and what to do."""

    exit_code = 1
    code = "failed"


class UsageError(AgentError):
    """What was asked for cannot be meant: an unknown handle, two options that exclude each other."""

    exit_code = 2
    code = "usage"


class ConfigError(UsageError):
    """A setting is wrong. The text names the file, line and key."""

    code = "config"


class ModelUnavailable(AgentError):
    """No model server answers."""

    exit_code = 3
    code = "no_server"


class ModelMissing(AgentError):
    """The server has no such model, or it must not be used for chat."""

    exit_code = 4
    code = "no_model"


class ContextExceeded(AgentError):
    """The question does not fit the model's context."""

    exit_code = 5
    code = "context_exceeded"


class StoreError(AgentError):
    """The database file cannot be opened, read or written."""

    exit_code = 6
    code = "database"


class StoreBusy(StoreError):
    """Another program keeps the file locked; trying again will do."""


class TimedOut(AgentError):
    """The person's own time limit has passed."""

    exit_code = 7
    code = "timeout"


class TracesLeft(AgentError):
    """What was to be erased is deleted, and something still holds words of it. The text says how to finish."""

    exit_code = 8
    code = "traces"


class ModelFailed(AgentError):
    """The model broke off, answered nothing, or answered what cannot be read."""

    code = "model_failed"


class Cancelled(AgentError):
    """The person stopped it."""

    exit_code = 130
    code = "cancelled"
