"""Every error that a person can see, with its exit code."""


class AgentError(Exception):
    """The base class. Its text is the whole message shown: what happened and what to do."""

    exit_code = 1
    code = "failed"

    def __init_subclass__(cls, exit_code: int = 0, code: str = "") -> None:
        cls.exit_code, cls.code = exit_code or cls.exit_code, code or cls.code


class UsageError(AgentError, exit_code=2, code="usage"):
    """A request that cannot be carried out: an unknown handle, two options that exclude each other."""


class ConfigError(UsageError, code="config"):
    """A setting is wrong. The text names the file, line and key."""


class ModelUnavailable(AgentError, exit_code=3, code="no_server"):
    """No model answers: no server does, or it cannot be used."""

    def __init__(self, message: str, *, absent: bool = False):
        super().__init__(message)
        self.absent = absent  # nothing answers at all, so that a person is told how to start a server


class ModelMissing(AgentError, exit_code=4, code="no_model"):
    """The server does not have the model, or the model must not be used for chat."""

    def __init__(self, problem: str, choice: str = ""):
        """`choice`: how another model is chosen on the command line."""
        super().__init__(f"{problem}: {choice}" if choice else problem)
        self.problem = problem


class ContextExceeded(AgentError, exit_code=5, code="context_exceeded"):
    """The question does not fit the model's context."""


class StoreError(AgentError, exit_code=6, code="database"):
    """The database file cannot be opened, read or written."""


class StoreBusy(StoreError):
    """Another program has the file locked; a retry will succeed later."""


class FileRefused(StoreError):
    """The file belongs to another program, or to a newer version of this one."""


class FileSealed(FileRefused, code="sealed"):
    """The file is sealed, and its key is not there, or is not the right one."""


class TimedOut(AgentError, exit_code=7, code="timeout"):
    """The person's own time limit has passed."""


class TracesLeft(AgentError, exit_code=8, code="traces"):
    """Rows were erased, but some file still holds their words. The text says how to finish."""


class NobodyAsked(AgentError, exit_code=9, code="nobody_asked"):
    """Only a person at a terminal decides this, and there is no terminal. The text says what waits, and where."""


class ModelFailed(AgentError, code="model_failed"):
    """The model's answer was cut off, empty or unreadable."""


class Cancelled(AgentError, exit_code=130, code="cancelled"):
    """The person cancelled the operation."""
