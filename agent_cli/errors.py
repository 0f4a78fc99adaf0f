"""Every error that a person can see, with its exit code."""


class AgentError(Exception):
    """The base class. Its text is the whole message shown: what happened and what to do."""

    exit_code = 1
    code = "failed"


class UsageError(AgentError):
    """A request that cannot be carried out: an unknown handle, two options that exclude each other."""

    exit_code = 2
    code = "usage"


class ConfigError(UsageError):
    """A setting is wrong. The text names the file, line and key."""

    code = "config"


class ModelUnavailable(AgentError):
    """No model answers: no server does, or it cannot be used."""

    exit_code = 3
    code = "no_server"

    def __init__(self, message: str, *, absent: bool = False):
        super().__init__(message)
        self.absent = absent  # nothing answers at all, so that a person is told how to start a server


class ModelMissing(AgentError):
    """The server does not have the model, or the model must not be used for chat."""

    exit_code = 4
    code = "no_model"

    def __init__(self, problem: str, choice: str = ""):
        """`choice`: how another model is chosen on the command line."""
        super().__init__(f"{problem}: {choice}" if choice else problem)
        self.problem = problem


class ContextExceeded(AgentError):
    """The question does not fit the model's context."""

    exit_code = 5
    code = "context_exceeded"


class StoreError(AgentError):
    """The database file cannot be opened, read or written."""

    exit_code = 6
    code = "database"


class StoreBusy(StoreError):
    """Another program has the file locked; a retry will succeed later."""


class FileRefused(StoreError):
    """The file belongs to another program, or to a newer version of this one."""


class TimedOut(AgentError):
    """The person's own time limit has passed."""

    exit_code = 7
    code = "timeout"


class TracesLeft(AgentError):
    """Rows were erased, but some file still holds their words. The text says how to finish."""

    exit_code = 8
    code = "traces"


class NobodyAsked(AgentError):
    """Only a person at a terminal decides this, and there is no terminal. The text says what waits, and where."""

    exit_code = 9
    code = "nobody_asked"


class ModelFailed(AgentError):
    """The model's answer was cut off, empty or unreadable."""

    code = "model_failed"


class Cancelled(AgentError):
    """The person cancelled the operation."""

    exit_code = 130
    code = "cancelled"
