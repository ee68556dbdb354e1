"""The scripted cast: a script that writes like people, so that a dry run shows something.

It is no language model. Its sentences are written by hand and lie in the data files of this package; which of them is
used depends on the request alone. It reads the prompt as far as it needs to stay on the topic: who writes, to whom,
about what, and what they remember.
"""

from populace.models.cast.cast import Cast

__all__ = ["Cast"]
