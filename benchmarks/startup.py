"""How long it takes until anything happens."""

from __future__ import annotations

import subprocess
import sys

from measure import Result, quickest, report


def seconds(*command: str) -> float:
    """Of a whole process that does this, the interpreter's own start included."""
    run = [sys.executable, *command]
    return quickest(7, lambda: subprocess.run(run, check=True, stdout=subprocess.DEVNULL))


def main() -> None:
    everything = "import populace; [getattr(populace, name) for name in populace.__all__]"
    report(
        [
            Result("import populace", seconds("-c", "import populace"), "s", 0.05, at_most=True),
            Result("import populace and use every name", seconds("-c", everything), "s"),
            Result("populace --help", seconds("-m", "populace", "--help"), "s", 0.15, at_most=True),
        ]
    )


if __name__ == "__main__":
    main()
