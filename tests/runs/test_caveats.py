from __future__ import annotations

from dataclasses import replace

import pytest

from populace import simulate
from populace.runs.caveats import basis_caveats, run_basis
from populace.scenarios.norms import Norms


@pytest.mark.parametrize(
    ("model", "warned"),
    [
        ("embedded", True),
        ("embedded?threads=2", True),
        ("embedded:models/larger.gguf", False),
        ("embedded:hf:acme/tiny-GGUF/tiny.gguf", False),
        ("ollama:llama3", False),
        ("somebody's own model", False),
    ],
)
def test_only_the_model_that_ships_is_called_the_embedded_135m_model(model, warned):
    run = simulate(Norms(workers=2, days=1), model="scripted:uniform", seed=1, keep="nothing")
    basis = replace(run_basis(run), models=(model,))
    assert ("embedded-model" in {caveat.id for caveat in basis_caveats(basis)}) is warned
