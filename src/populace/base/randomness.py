"""Random numbers that depend on where they are drawn, never on when.

Every draw is a function of (seed, path, person): the path names the place in the run, such as
`3/0` for the first question of step 3. So the order in which answers arrive, the number of
workers and the way a population is cut into chunks cannot change a result.
"""

import hashlib

import numpy as np
import numpy.typing as npt
import polars as pl

Keys = npt.NDArray[np.uint64]
Uniforms = npt.NDArray[np.float64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def path_key(seed: int, path: str) -> int:
    """The 64-bit key of one place in one run."""
    digest = hashlib.blake2b(f"{seed}/{path}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def stream(seed: int, path: str) -> np.random.Generator:
    """A generator for one place in one run, independent of every other place.

    Example:
        >>> float(stream(7, "3/0").random()) == float(stream(7, "3/0").random())
        True
    """
    return np.random.Generator(np.random.Philox(key=path_key(seed, path)))


def person_keys(ids: pl.Series) -> Keys:
    """A 64-bit key for each person, the same wherever the person appears."""
    if ids.dtype.is_integer():
        return ids.cast(pl.Int64).to_numpy().astype(np.uint64)
    texts = ids.cast(pl.String).to_list()
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def bits(key: int, people: Keys) -> Keys:
    """64 random bits for each person: two rounds of the SplitMix64 finaliser over key and person."""
    return _mix(_mix(people * _GOLDEN + np.uint64(key)) + np.uint64(key))


def uniforms(key: int, people: Keys) -> Uniforms:
    """One number in [0, 1) for each person.

    Example:
        >>> people = np.arange(4, dtype=np.uint64)
        >>> bool((uniforms(5, people)[2:] == uniforms(5, people[2:])).all())
        True
    """
    return (bits(key, people) >> np.uint64(11)).astype(np.float64) * (1.0 / (1 << 53))


def _mix(x: Keys) -> Keys:
    x = x ^ (x >> np.uint64(30))
    x *= _MIX_1
    x ^= x >> np.uint64(27)
    x *= _MIX_2
    x ^= x >> np.uint64(31)
    return x
