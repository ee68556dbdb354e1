"""Every error that Populace raises on purpose, as one family.

    PopulaceError
    ├── UsageError               bad input, nothing was started
    │   ├── UnknownNameError     a scenario, parameter, column or model that is not there; names the nearest
    │   ├── ParameterError       a scenario parameter out of its bounds
    │   ├── PeopleError          a population table that is not one
    │   ├── QuestionError        a question that cannot be asked
    │   ├── TemplateError        a template field that nothing fills
    │   ├── InterventionError    an intervention that cannot be applied
    │   ├── ScenarioError        a scenario file that does not load
    │   ├── MemoryStreamError    a memory that does not fit its stream, or is not there
    │   └── WorldError           a map or a file of residents that cannot be used; names file and entry
    ├── ScopeError               a step awaits something other than its own questions
    ├── InvalidAnswerError       an answer was invalid and the scenario said `invalid="raise"`
    ├── ModelError               the model cannot be used
    │   ├── ModelFileError       a model file that is missing, damaged or not a model
    │   ├── ModelUnreachableError  no server answers
    │   ├── ModelKeyError        the server refuses the key
    │   └── EmbeddingError       vectors of another embedder or of another size
    ├── StoppedError             the run stopped before its end and can be resumed
    │   ├── BudgetError          a limit on calls, tokens, money or time was reached
    │   ├── TooManyFailuresError the model fails so often that going on would only record failures
    │   └── InterruptedRunError  Ctrl-C
    ├── StorageError             the disk is full or not writable
    ├── CallStoreError           the call store is locked or damaged
    └── JournalError             the run folder
        ├── RunNotFoundError
        ├── RunVersionError      written by a newer version
        ├── RunBusyError         another process is writing it
        ├── DamagedRunError      a committed segment was truncated or edited
        └── ReplayMismatchError  the scenario asks something else than the journal holds

The text of an error says what happened, where, and what to do next. `code` never changes its meaning;
`exit_code` is what the command line ends with.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PopulaceError(Exception):
    """Base of every error that Populace raises on purpose.

    Args:
        what: What happened and where.
        hint: What to do next, as a sentence or a command.

    Example:
        >>> from populace import People
        >>> try:
        ...     People.named(0)
        ... except PopulaceError as error:
        ...     print(error.what)
        a population needs at least one person, not 0.
    """

    code = "P000"
    exit_code = 1

    def __init__(self, what: str, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what} {self.hint}" if self.hint else self.what

    def paragraph(self) -> str:
        """The error as the command line prints it."""
        text = f"{type(self).__name__} [{self.code}]: {self.what}"
        return f"{text}\n  {self.hint}" if self.hint else text


class UsageError(PopulaceError):
    """Bad input; nothing was started."""

    code = "P100"
    exit_code = 2


class UnknownNameError(UsageError):
    """A name that is not known, with the nearest one that is."""

    code = "P101"

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str | None = None) -> None:
        self.name = name
        self.known = sorted(known)
        self.nearest = nearest(name, self.known)
        shown = ", ".join(self.known[:20]) + (", …" if len(self.known) > 20 else "")
        guess = f"Did you mean {self.nearest!r}? " if self.nearest else ""
        listing = f"Known: {shown}." if self.known else "None are known."
        super().__init__(f"there is no {kind} named {name!r}.", f"{guess}{listing}" + (f" {hint}" if hint else ""))


class ParameterError(UsageError):
    """A scenario parameter that does not fit its type or bounds."""

    code = "P102"


class PeopleError(UsageError):
    """A population table that breaks a rule; names column and row."""

    code = "P103"


class QuestionError(UsageError):
    """A question that cannot be asked as written."""

    code = "P104"


class TemplateError(UsageError):
    """A template names a field that nothing fills, or fills it with nothing."""

    code = "P105"


class InterventionError(UsageError):
    """An intervention that cannot be read or applied."""

    code = "P106"


class ScenarioError(UsageError):
    """A scenario that cannot be loaded or does not hold to its contract."""

    code = "P107"


class MemoryStreamError(UsageError):
    """A memory that does not fit its stream, or is not there."""

    code = "P108"


class WorldError(UsageError):
    """A map, or a file of those who live there, that cannot be used; names file and entry."""

    code = "P120"


class ScopeError(PopulaceError):
    """Code inside a step awaited something that the run cannot repeat."""

    code = "P110"


class InvalidAnswerError(PopulaceError):
    """An answer was invalid and the scenario asked for the run to stop."""

    code = "P111"


class ModelError(PopulaceError):
    """The model cannot be used."""

    code = "P200"
    exit_code = 3


class ModelFileError(ModelError):
    """A model file is missing, damaged or not a model."""

    code = "P201"


class ModelUnreachableError(ModelError):
    """No server answers at the address."""

    code = "P202"


class ModelKeyError(ModelError):
    """The server refuses the key."""

    code = "P203"


class EmbeddingError(ModelError):
    """Vectors of another embedder, of another size, or not finite."""

    code = "P204"


class StoppedError(PopulaceError):
    """The run stopped before its end; what was committed stays, and it can be resumed."""

    code = "P300"
    exit_code = 5


class BudgetError(StoppedError):
    """A limit was reached.

    Attributes:
        limit: Which limit: calls, tokens, money or seconds.
        allowed: Its value.
    """

    code = "P301"

    def __init__(self, limit: str, allowed: float, spent: float) -> None:
        self.limit = limit
        self.allowed = allowed
        self.spent = spent
        super().__init__(f"the budget of {allowed:g} {limit} is reached ({spent:g} spent).")


class TooManyFailuresError(StoppedError):
    """So many calls failed that going on would only record failures."""

    code = "P302"


class InterruptedRunError(StoppedError):
    """The run was interrupted from the keyboard."""

    code = "P303"
    exit_code = 130


class StorageError(PopulaceError):
    """The disk is full or not writable."""

    code = "P400"
    exit_code = 4


class CallStoreError(PopulaceError):
    """The call store is locked or damaged."""

    code = "P401"
    exit_code = 4


class JournalError(PopulaceError):
    """Something is wrong with a run folder."""

    code = "P500"
    exit_code = 4


class RunNotFoundError(JournalError):
    """There is no such run, or the folder is not one."""

    code = "P501"


class RunVersionError(JournalError):
    """The run was written by a newer version of Populace."""

    code = "P502"


class RunBusyError(JournalError):
    """Another process is writing the run."""

    code = "P503"


class DamagedRunError(JournalError):
    """A committed segment was truncated or edited."""

    code = "P504"


class ReplayMismatchError(JournalError):
    """The scenario asks something else than the journal holds.

    Attributes:
        step: The step at which they part.
        person: The first person concerned, where there is one.
    """

    code = "P505"
    exit_code = 6

    def __init__(self, what: str, hint: str | None = None, *, step: int, person: object = None) -> None:
        super().__init__(what, hint)
        self.step = step
        self.person = person


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, or None where none is close."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return found[0] if found else None


def line_in(error: BaseException, file: str) -> int | None:
    """The innermost line of a file that an exception passed through, or None."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found
