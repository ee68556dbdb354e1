"""Whether a journal ends where its manifest says.

Every step names the digest of the step before it, so that no step but the last can be missing, added or changed
unnoticed. The last one is bound by the manifest, which records its digest, and with it the settings and the usage.
"""

import hashlib

from populace.base.documents import DocumentError, read_bytes, read_json
from populace.base.errors import DamagedRunError, PopulaceError
from populace.base.formatting import plural
from populace.journal.journal import Journal
from populace.journal.manifest import End, Manifest, settings_digest

_RESTORE = "Restore the run folder from a copy. Steps that are there can be read, and forked from."


def check_end(journal: Journal) -> bool:
    """Whether the end of a journal is bound; False for folders that were written before ends were recorded.

    A process that died between a step and the update of the manifest leaves one step more than the manifest says.

    Raises:
        DamagedRunError: Steps are missing or were added, or the settings or the usage were changed.
    """
    problem = end_problem(journal)
    if problem and not journal.written_elsewhere():
        # The run may have gone on, or come to its end, since its manifest was read.
        problem = end_problem(Journal(journal.folder))
    if problem and not journal.written_elsewhere():
        raise DamagedRunError(f"{journal.name}: {problem}", _RESTORE)
    return journal.manifest.status.end is not None


def end_problem(journal: Journal) -> str:
    """Why a journal is not as its manifest says, as a sentence; empty where it is, or where its end is not bound."""
    end = journal.manifest.status.end
    if end is None:
        return ""
    try:
        data = read_json(journal.folder / "manifest.json")
    except (OSError, DocumentError) as error:
        return f"manifest.json cannot be read: {error}."
    if end.settings != settings_digest(data):
        return "the settings in its manifest were changed after the run."
    return _steps_problem(journal, end) or _usage_problem(journal, end)


def _steps_problem(journal: Journal, end: End) -> str:
    if end.digest == journal.digest():
        return ""
    steps = journal.steps()
    digests = [*(journal.digest_before(step) for step in steps[journal.first_own_step :]), journal.digest()]
    if end.digest not in digests:
        last = steps[-1] if steps else "none"
        recorded = journal.manifest.status.steps
        return (
            f"its last step is missing or was changed: the manifest records {plural(recorded, 'step')} and the digest "
            f"{end.digest[:12]}, and the last step that is there is {last}."
        )
    added = len(digests) - 1 - digests.index(end.digest)
    if added == 1 and journal.manifest.status.state == "running":
        return ""
    verb = "was" if added == 1 else "were"
    return f"{plural(added, 'step')} {verb} added after its end, which is step {steps[-1] - added}."


def _usage_problem(journal: Journal, end: End) -> str:
    count, digest = end.usage
    if not count:
        return ""
    path = journal.folder / "usage.jsonl"
    try:
        data = read_bytes(path, links=False)
    except (OSError, DocumentError) as error:
        return f"usage.jsonl cannot be read: {error}."
    running = journal.manifest.status.state == "running"
    if len(data) < count or (len(data) > count and not running):
        return f"usage.jsonl has {len(data)} bytes, and {count} were recorded."
    if hashlib.blake2b(data[:count], digest_size=16).hexdigest() != digest:
        return "usage.jsonl was changed after the run."
    return ""


def verify_journal(journal: Journal) -> bool:
    """Check every file of a journal, its parents' included; returns whether its end is bound too.

    Raises:
        DamagedRunError: Something is missing, was added or was changed.
    """
    for step in journal.steps():
        journal.verify(step)
    return check_end(journal)


def damage(journal: Journal) -> PopulaceError | None:
    """The error that names what is damaged in a run folder; None where everything is as it was committed."""
    try:
        fresh = Journal(journal.folder, Manifest.read(journal.folder))
        verify_journal(fresh)
    except PopulaceError as error:
        return error
    return None
