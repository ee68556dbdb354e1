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
    │   ├── QuestionnaireError   a questionnaire or a file of respondents that cannot be used; names file and item
    │   ├── UntrustedCodeError   a file names code that is not trusted
    │   ├── CausalStudyError     the declaration of a causal study that contradicts itself; names file and line
    │   ├── HumanDataError       a table of human answers that cannot be used; names person and item
    │   └── WorldError           a map or a file of residents that cannot be used; names file and entry
    ├── ScopeError               a step awaits something other than its own questions
    ├── InvalidAnswerError       an answer was invalid and the scenario said `invalid="raise"`
    ├── ModelError               the model cannot be used
    │   ├── ModelFileError       a model file that is missing, damaged or not a model
    │   ├── ModelUnreachableError  no server answers
    │   ├── ModelKeyError        the server refuses the key, or wants one and none is set
    │   ├── UnknownModelError    the server does not know the model; names the nearest that it lists
    │   └── EmbeddingError       vectors of another embedder or of another size
    ├── ClusterError             a cluster cannot be used; nothing was started
    ├── WorkerLostError          a process on a cluster was lost with what it had under way
    ├── StoppedError             the run stopped before its end and can be resumed
    │   ├── BudgetError          a limit on calls, tokens, money or time was reached
    │   ├── ServiceError         a model's service failed, and its failure is not recorded as an answer
    │   ├── ClusterLostError     the cluster was lost while it was in use
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

import difflib
import errno
import sysconfig
import textwrap
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Self

from populace.base.foreign import for_terminal


class PopulaceError(Exception):
    """Base of every error that Populace raises on purpose.

    Args:
        what: What happened and where.
        hint: What to do next, as a sentence or a command.

    Attributes:
        place: The lines of the user's own code that led to the error, where it arose in them.
        entry: The path of the entry of a document that the error is about, as keys and numbers of items; empty where
            it is about none.

    Example:
        >>> from populace import People
        >>> try:
        ...     People.named(0)
        ... except PopulaceError as error:
        ...     print(error.what)
        a population needs at least one person, not 0.
    """

    code: ClassVar[str] = "P000"
    exit_code: int = 1

    def __init_subclass__(cls, *, code: str | None = None, exit_code: int | None = None) -> None:
        cls.code = cls.code if code is None else code
        cls.exit_code = cls.exit_code if exit_code is None else exit_code

    def __init__(self, what: str, hint: str | None = None) -> None:
        # Errors quote servers, files and names, and are printed in many places, tracebacks among them.
        what = for_terminal(what)
        super().__init__(what)
        self.what = what
        self.hint = None if hint is None else for_terminal(hint)
        self.place: str | None = None
        self.entry: tuple[int | str, ...] = ()

    def __str__(self) -> str:
        return f"{self.what} {self.hint}" if self.hint else self.what

    def paragraph(self) -> str:
        """The error as the command line prints it."""
        name = next(kind.__name__ for kind in type(self).__mro__ if not kind.__name__.startswith("_"))
        lines = [f"{name} [{self.code}]: {self.what}", for_terminal(self.place or ""), self.hint or ""]
        return "\n".join(lines[:1] + [textwrap.indent(line, "  ") for line in lines[1:] if line])


class UsageError(PopulaceError, code="P100", exit_code=2):
    """Bad input; nothing was started."""


class UnknownNameError(UsageError, code="P101"):
    """A name that is not known, with the nearest one that is.

    Args:
        kind: What kind of thing was looked for.
        name: The name that is not known.
        known: The names that are.
        hint: What else to do.
        suggestion: What to write instead, where more is known than which name is nearest; the known names are then
            not listed.
    """

    def __init__(
        self, kind: str, name: str, known: Iterable[str], hint: str | None = None, *, suggestion: str | None = None
    ) -> None:
        self.name = name
        self.known = sorted(known)
        self.nearest = nearest(name, self.known)
        names = ", ".join(self.known[:20]) + (", …" if len(self.known) > 20 else "")
        guess = f"Did you mean {self.nearest!r}? " if self.nearest else ""
        listing = f"Known: {names}." if self.known else "None are known."
        if suggestion is not None:
            guess, listing = "", f"Did you mean {suggestion}?"
        super().__init__(f"there is no {kind} named {name!r}.", f"{guess}{listing}" + (f" {hint}" if hint else ""))


class ParameterError(UsageError, code="P102"):
    """A scenario parameter that does not fit its type or bounds."""


class PeopleError(UsageError, code="P103"):
    """A population table that breaks a rule; names column and row."""


class QuestionError(UsageError, code="P104"):
    """A question that cannot be asked as written."""


class TemplateError(UsageError, code="P105"):
    """A template names a field that nothing fills, or fills it with nothing."""


class InterventionError(UsageError, code="P106"):
    """An intervention that cannot be read or applied."""


class ScenarioError(UsageError, code="P107"):
    """A scenario that cannot be loaded or does not hold to its contract."""


class MemoryStreamError(UsageError, code="P108"):
    """A memory that does not fit its stream, or is not there."""


class QuestionnaireError(UsageError, code="P109"):
    """A questionnaire, a file of respondents or weights that cannot be used; the text names the file and the item."""


class UntrustedCodeError(UsageError, code="P121"):
    """A run, an experiment or a design names code that is not trusted; nothing of it was imported."""


class HumanDataError(UsageError, code="P122"):
    """A table of human answers that cannot be used; the text names the person and the item."""


class TrainingError(UsageError, code="P140"):
    """Training that cannot be done as it is asked for: the data, the plan or the base does not fit."""


class CausalStudyError(UsageError, code="P130"):
    """The declaration of a causal study that cannot be used; the text names the file and the line."""


class WorldError(UsageError, code="P120"):
    """A map, or a file of those who live there, that cannot be used; names file and entry."""


class ActionRefusedError(WorldError, code="P123"):
    """The world does not allow what a person wants to do; the message is the reason, and the person learns it."""


class ScopeError(PopulaceError, code="P110"):
    """Code inside a step awaited something that the run cannot repeat."""


class InvalidAnswerError(PopulaceError, code="P111"):
    """An answer was invalid and the scenario asked for the run to stop."""


class ModelError(PopulaceError, code="P200", exit_code=3):
    """The model cannot be used."""


class ModelFileError(ModelError, code="P201"):
    """A model file is missing, damaged or not a model."""


class ModelUnreachableError(ModelError, code="P202"):
    """No server answers at the address."""


class ModelKeyError(ModelError, code="P203"):
    """The server refuses the key, or wants one and none is set."""


class UnknownModelError(ModelError, code="P205"):
    """A server does not know a model.

    Attributes:
        name: The name that it does not know.
        nearest: The name most like it among those that the server lists; None where none is close.
    """

    def __init__(self, what: str, hint: str | None = None, *, name: str, nearest: str | None = None) -> None:
        super().__init__(what, hint)
        self.name = name
        self.nearest = nearest


class EmbeddingError(ModelError, code="P204"):
    """Vectors of another embedder, of another size, or not finite."""


class ClusterError(PopulaceError, code="P210", exit_code=3):
    """A cluster does not answer, or cannot do what is wanted of it; nothing was started."""


class WorkerLostError(PopulaceError, code="P211", exit_code=3):
    """A process on a cluster, or its node, was lost with what it had under way."""


class StoppedError(PopulaceError, code="P300", exit_code=5):
    """The run stopped before its end; what was committed stays, and it can be resumed."""


class BudgetError(StoppedError, code="P301"):
    """A limit was reached.

    Attributes:
        limit: Which limit: calls, tokens, money or seconds.
        allowed: Its value.
        spent: What was spent of it.
    """

    def __init__(self, limit: str, allowed: float, spent: float, *, unit: str = "") -> None:
        self.limit = limit
        self.allowed = allowed
        self.spent = spent
        super().__init__(f"the budget of {allowed:g} {unit or limit} is reached ({spent:g} spent).")


class ServiceError(StoppedError, code="P302"):
    """The service behind a model failed; the step under way was abandoned, so that no failure counts as an answer."""

    def __init__(self, what: str, hint: str | None = None) -> None:
        advice = "Nothing that was paid for is lost: when the service works again, resume the run or ask again."
        super().__init__(what, hint or advice)


class ClusterLostError(StoppedError, code="P304"):
    """The cluster was lost while it was in use; what was received from it is kept."""

    def __init__(self, what: str, hint: str | None = None) -> None:
        advice = "What ended is kept, and no reply that was paid for is lost: start the same command again to go on."
        super().__init__(what, hint or advice)


class InterruptedRunError(StoppedError, code="P303", exit_code=130):
    """The run was interrupted from the keyboard."""


class StorageError(PopulaceError, code="P400", exit_code=4):
    """The disk is full or not writable."""

    @classmethod
    def not_writable(cls, what: object, error: Exception) -> Self:
        """The error for a folder or file that the system does not let us write to."""
        if getattr(error, "errno", None) in (errno.EMFILE, errno.ENFILE):
            hint = "Set --concurrency lower, or allow more open files with `ulimit -n 4096`."
        else:
            hint = 'Choose another folder: --workspace FOLDER on the command line, workspace="FOLDER" in Python.'
        return cls(f"{what} cannot be written: {getattr(error, 'strerror', None) or error}.", hint)


class CallStoreError(PopulaceError, code="P401", exit_code=4):
    """The call store is locked or damaged."""


class JournalError(PopulaceError, code="P500", exit_code=4):
    """Something is wrong with a run folder."""


class RunNotFoundError(JournalError, code="P501"):
    """There is no such run, or the folder is not one."""


class RunVersionError(JournalError, code="P502"):
    """The run was written by a newer version of Populace."""


class RunBusyError(JournalError, code="P503"):
    """Another process is writing the run."""


class DamagedRunError(JournalError, code="P504"):
    """A committed segment was truncated or edited."""


class ReplayMismatchError(JournalError, code="P505", exit_code=6):
    """The scenario asks something else than the journal holds.

    Attributes:
        step: The step at which they part.
        person: The first person concerned, where there is one.
    """

    def __init__(self, what: str, hint: str | None = None, *, step: int, person: object = None) -> None:
        super().__init__(what, hint)
        self.step = step
        self.person = person


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, or None where none is close: a slip of the pen, or a name cut short.

    Example:
        >>> nearest("agee", ["name", "age"]), nearest("temp", ["temperature"]), nearest("age", ["take", "name"])
        ('age', 'temperature', None)
    """
    names = list(known)
    # One slip changes more of a short name.
    matches = difflib.get_close_matches(name, names, n=1, cutoff=0.65 if len(name) < 5 else 0.7)
    longer = [each for each in names if len(name) > 2 and each.startswith(name)]
    return next(iter(matches or sorted(longer, key=len)), None)


def nearest_id(name: str, ids: Iterable[str]) -> str | None:
    """The id most like `name`, or the first id with such a beginning: an id is words and a digest, joined by hyphens.

    Example:
        >>> nearest_id("nrms", ["market-77aa01", "norms-1a2b3c"])
        'norms-1a2b3c'
    """
    beginnings: dict[str, str] = {}
    for each in ids:
        words = each.split("-")
        for count in range(len(words), 0, -1):
            beginnings.setdefault("-".join(words[:count]), each)
    guess = nearest(name, beginnings)
    return None if guess is None else beginnings[guess]


def line_in(error: BaseException, file: str) -> int | None:
    """The innermost line of a file that an exception passed through, or None."""
    places = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in places if frame.f_code.co_filename == file]
    return lines[-1] if lines else None


_LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_PACKAGE = Path(__file__).resolve().parents[1]


def own_lines(error: BaseException) -> list[str]:
    """The lines of scenarios and of other code of the user that an exception passed through, outermost first.

    Example:
        >>> try:
        ...     int("x")
        ... except ValueError as error:
        ...     own_lines(error)[-1].partition(",")[2]
        ' line 2, in <module>: int("x")'
    """
    lines = []
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        shipped = _PACKAGE in path.parents and _PACKAGE / "scenarios" not in path.parents
        of_dataclass = (frame.filename, frame.name, frame.line) == ("<string>", "__init__", "")
        if shipped or of_dataclass or frame.filename.startswith((*_LIBRARIES, "<frozen")):
            continue
        lines.append(f"{_short(path)}, line {frame.lineno}, in {frame.name}: {frame.line or ''}".removesuffix(": "))
    return lines


def _short(path: Path) -> str:
    """A file as the user would name it: from the current folder, where it lies there."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)
