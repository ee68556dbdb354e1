"""Retrieval from the memory stream: one person with very many memories, many people, what others cost, and peers."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import numpy as np
import numpy.typing as npt
from measure import HERE, Result, peak_memory_gb, quickest, report

from populace.base.errors import ModelFileError
from populace.minds import MemoryStream, Retrieval, similarity
from populace.models import MiniLM

DIMENSION, HOUR, NOW, TOP = 384, 3600, 10**7, 30
Vectors = npt.NDArray[np.float32]


def remembered(
    stream: MemoryStream, owners: npt.NDArray[np.int64], rng: np.random.Generator, vectors: Vectors | None = None
) -> None:
    count = len(owners)
    if vectors is None:
        vectors = rng.standard_normal((count, stream.dimension), dtype=np.float32)
    texts = [f"This is what happened, number {index:,}, at the café." for index in range(count)]
    times, rated = rng.integers(0, NOW, count), rng.integers(1, 11, count)
    stream.append(owners, texts, kind="observation", time=times, importance=rated, embeddings=vectors)


def one_person(rng: np.random.Generator) -> list[Result]:
    stream = MemoryStream(embedder="random", dimension=DIMENSION)
    remembered(stream, np.zeros(100_000, np.int64), rng)
    query = rng.standard_normal((1, DIMENSION), dtype=np.float32)
    seconds = quickest(50, lambda: stream.retrieve([0], query, now=NOW, touch=False))
    what, detail = "top 30 of 100,000 memories of one person", f"{DIMENSION} dimensions, quickest of 50"
    if similarity._kernel() is None:
        return [Result(what, seconds * 1e3, "ms", 10, at_most=True, detail=f"{detail}, without simsimd")]
    kernel, similarity._kernel = similarity._kernel, lambda: None
    plain = quickest(50, lambda: stream.retrieve([0], query, now=NOW, touch=False))
    similarity._kernel = kernel
    return [
        Result(what, seconds * 1e3, "ms", 10, at_most=True, detail=detail),
        Result("the same on numpy alone", plain * 1e3, "ms"),
    ]


def many_people(rng: np.random.Generator, people: int = 10_000) -> Result:
    stream = MemoryStream(embedder="random", dimension=DIMENSION)
    for _ in range(10):
        remembered(stream, rng.permutation(np.repeat(np.arange(people), 10)), rng)
    queries = rng.standard_normal((people, DIMENSION), dtype=np.float32)
    seconds = quickest(5, lambda: stream.retrieve(np.arange(people), queries, now=NOW))
    detail = f"{people:,} people × 100 memories × {DIMENSION} dimensions, one batch of {people:,}, with touch"
    return Result("retrievals in a batch", people / seconds, "/s", 20_000, detail=detail)


def others(rng: np.random.Generator) -> Result:
    """The same 200 people of 100 memories each, alone and among many others."""
    queries, times = rng.standard_normal((200, DIMENSION), dtype=np.float32), {}
    for crowd in (0, 1_000, 100_000):
        stream = MemoryStream(embedder="random", dimension=DIMENSION)
        for _ in range(10):
            remembered(stream, rng.permutation(np.r_[np.repeat(np.arange(200), 10), np.arange(200, 200 + crowd)]), rng)
        times[crowd] = quickest(15, lambda s=stream: s.retrieve(np.arange(200), queries, now=NOW, touch=False))
    detail = ", ".join(f"{crowd:,} others: {seconds * 1e3:.1f} ms" for crowd, seconds in times.items())
    ratio = times[100_000] / times[0]
    return Result("200 retrievals among 100,000 others, beside alone", ratio, "times", 1.5, at_most=True, detail=detail)


def footprint(people: int = 100_000, each: int = 100) -> None:
    """Runs in a process of its own and prints its peak."""
    rng = np.random.default_rng(1)
    stream = MemoryStream(embedder="random", dimension=DIMENSION)
    for _ in range(each):
        remembered(stream, np.arange(people), rng)
    print(json.dumps({"peak_gb": peak_memory_gb(), "stream_gb": stream.nbytes / 1e9, "memories": len(stream)}))


def naive(vectors: Vectors, times: list[int], rated: list[float], query: Vectors, top: int) -> list[int]:
    """What one writes first: a loop over memories, three lists, min-max, sort."""
    size = math.sqrt(sum(float(x) * float(x) for x in query))
    recency, near = [], []
    for vector, moment in zip(vectors, times, strict=True):
        recency.append(0.995 ** ((NOW - moment) / HOUR))
        near.append(float(np.dot(vector, query)) / (float(np.linalg.norm(vector)) * size))

    def scaled(values: list[float]) -> list[float]:
        low, high = min(values), max(values)
        return [(value - low) / (high - low) for value in values]

    parts = zip(scaled(recency), scaled(rated), scaled(near), strict=True)
    scores = [sum(part) for part in parts]
    return sorted(range(len(scores)), key=scores.__getitem__, reverse=True)[:top]


def concordia(python: Path, vectors: Vectors, queries: Vectors) -> tuple[float, list[int]]:
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/vectors.npy", vectors)
        np.save(f"{folder}/queries.npy", queries)
        command = [str(python), str(HERE / "memory_peer.py"), folder, str(TOP), "3"]
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    found = json.loads(said.stdout.splitlines()[-1])
    return float(found["seconds"]), [int(text.split()[-1]) for text in found["last"]]


def peers(rng: np.random.Generator) -> list[Result]:
    results = []
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "bin" / "python"
        try:
            venv.create(folder, with_pip=True)
            install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "gdm-concordia"]
            subprocess.run(install, check=True, capture_output=True, timeout=600)
        except (subprocess.SubprocessError, OSError) as error:
            print(f"  Concordia could not be installed and is left out: {error}", flush=True)
            python = None
        for count in (1_000, 10_000, 100_000):
            vectors = rng.standard_normal((count, DIMENSION), dtype=np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            queries = vectors[:3] + 0.1 * rng.standard_normal((3, DIMENSION), dtype=np.float32)
            stream = MemoryStream(embedder="random", dimension=DIMENSION)
            remembered(stream, np.zeros(count, np.int64), rng, vectors)

            def ours(row: int, how: Retrieval | str = "park2023", s: MemoryStream = stream, q: Vectors = queries):
                return s.retrieve([0], q[row : row + 1], now=NOW, how=how, touch=False)

            seconds = quickest(20, lambda f=ours: [f(row) for row in range(3)]) / 3
            table = stream.of(0)
            times, rated = table["time"].to_list(), table["importance"].to_list()
            began = time.perf_counter()
            by_hand = naive(vectors, times, rated, queries[2], TOP)
            looped = time.perf_counter() - began
            same = len(set(by_hand) & set(ours(2)["memory"]))
            detail = f"{seconds * 1e3:.2f} ms beside {looped * 1e3:.1f} ms; {same} of {TOP} the same"
            results.append(Result(f"beside a naive loop, {count:,} memories", looped / seconds, "times", detail=detail))
            if python is not None:
                theirs, last = concordia(python, vectors, queries)
                near = Retrieval("relevance alone, as Concordia ranks", recency=0, importance=0, top=TOP)
                same = len(set(last) & set(ours(2, near)["memory"]))
                detail = f"{seconds * 1e3:.2f} ms (three scores) beside {theirs * 1e3:.1f} ms (relevance alone); "
                detail += f"by relevance {same} of {TOP} the same"
                results.append(
                    Result(f"beside Concordia, {count:,} memories", theirs / seconds, "times", detail=detail)
                )
    return results


def embedding(rng: np.random.Generator) -> Result | None:
    words = "the cat sat on a mat while rain fell over town and people talked about a party at the café".split()
    texts = [" ".join(rng.choice(words, int(rng.integers(6, 16)))) for _ in range(500)]
    minilm = MiniLM()
    try:
        minilm.embed(["ready"])
    except ModelFileError as error:
        print(f"  MiniLM is left out: {error}", flush=True)
        return None
    seconds = quickest(3, lambda: minilm.embed(texts))
    return Result("MiniLM, texts of 6 to 15 words", len(texts) / seconds, "texts/s", detail="500 distinct texts")


def main() -> None:
    if sys.argv[1:] == ["--footprint"]:
        footprint()
        return
    rng = np.random.default_rng(0)
    report(one_person(rng))
    report([many_people(rng)])
    report([others(rng)])
    report([result for result in [embedding(rng)] if result])
    report(peers(rng))
    said = subprocess.run([sys.executable, __file__, "--footprint"], capture_output=True, text=True, check=True)
    seen = json.loads(said.stdout)
    detail = f"peak of the process; the stream itself {seen['stream_gb']:.2f} GB; {seen['memories']:,} memories"
    report([Result("100,000 people × 100 memories × 384", seen["peak_gb"], "GB", 12, at_most=True, detail=detail)])


if __name__ == "__main__":
    main()
