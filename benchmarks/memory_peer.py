"""Concordia's associative memory, timed in an environment of its own; started by memory.py, never imported."""

import json
import sys
import time

import numpy as np
import pandas as pd
from concordia.associative_memory import basic_associative_memory

folder, top, repeat = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
vectors, queries = np.load(f"{folder}/vectors.npy"), np.load(f"{folder}/queries.npy")
asked = {str(row): query for row, query in enumerate(queries)}
memory = basic_associative_memory.AssociativeMemoryBank(sentence_embedder=asked.__getitem__)
# Its own `add` copies the whole table for each memory; the table is filled at once instead, in its favour.
memory._memory_bank = pd.DataFrame({"text": [f"memory {row}" for row in range(len(vectors))], "embedding": [*vectors]})
best = float("inf")
for _ in range(repeat):
    began = time.perf_counter()
    for query in asked:
        found = memory.retrieve_associative(query, k=top)
    best = min(best, (time.perf_counter() - began) / len(asked))
print(json.dumps({"seconds": best, "last": list(found)}))
