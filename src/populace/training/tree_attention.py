"""A forward pass over packed trees, in which every token sees the beginning of its tree and its own branch alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from populace.training.base_network import training_library
from populace.training.sequences import Sequences


class TreeAttention:
    """Computes packed trees: every token sees the beginning of its tree and its own branch.

    Args:
        model: A causal language model of transformers, with or without an adapter.
    """

    def __init__(self, model: Any) -> None:
        torch = training_library("torch")
        self.network = model.get_base_model() if hasattr(model, "get_base_model") else model
        self.device = next(model.parameters()).device
        self._flexible = self.device.type == "cuda"
        self._reduced = self._flexible or next(self.network.model.parameters()).dtype == torch.bfloat16
        self.network.set_attn_implementation("flex_attention" if self._flexible else "sdpa")
        if self._flexible:
            torch.set_float32_matmul_precision("high")
            from torch.nn.attention.flex_attention import create_block_mask

            self._block_mask = torch.compile(create_block_mask)
            for layer in self.network.model.layers:
                layer.compile()

    def loss(self, batch: Sequences, size: int) -> Any:
        """The mean loss of a batch, weighted; rows are filled up to a size, so that shapes stay the same."""
        torch = training_library("torch")
        logs = self.log_probabilities(batch, size)
        weights = torch.from_numpy(batch.target_weights).to(self.device)
        return -(logs * weights).sum() / weights.sum()

    def log_probabilities(self, batch: Sequences, size: int) -> Any:
        """The log-probability of every target of a batch."""
        torch = training_library("torch")
        short = max(0, size - len(batch)) if self._flexible else 0

        def moved(array: Any) -> Any:
            filled = np.pad(array, ((0, short), (0, 0))) if short else array
            return torch.from_numpy(np.ascontiguousarray(filled)).long().to(self.device, non_blocking=True)

        tokens, places, trees, branches = map(moved, (batch.tokens, batch.places, batch.trees, batch.branches))
        states_at = batch.target_sequences.astype(np.int64) * batch.tokens.shape[1] + batch.target_places
        positions, inverse = np.unique(states_at, return_inverse=True)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._reduced):
            states = self.network.model(
                input_ids=tokens, position_ids=places, attention_mask=self._mask(trees, branches), use_cache=False
            ).last_hidden_state
            chosen = states.reshape(-1, states.shape[-1])[torch.from_numpy(positions).to(self.device)]
            scores = self.network.lm_head(chosen).float()
        targets = torch.from_numpy(batch.target_tokens.astype(np.int64)).to(self.device)
        rows = torch.from_numpy(inverse.astype(np.int64)).to(self.device)
        return scores[rows, targets] - torch.logsumexp(scores, -1)[rows]

    def _mask(self, trees: Any, branches: Any) -> Any:
        torch = training_library("torch")
        if self._flexible:

            def visible(row: Any, head: Any, query: Any, key: Any) -> Any:
                own = (branches[row, key] == 0) | (branches[row, key] == branches[row, query])
                return ((trees[row, key] == trees[row, query]) & own & (key <= query)) | (key == query)

            count, length = trees.shape
            return self._block_mask(visible, count, None, length, length, device=self.device)
        own = (branches[:, None, :] == 0) | (branches[:, None, :] == branches[:, :, None])
        order = torch.arange(trees.shape[1], device=self.device)
        seen = (trees[:, None, :] == trees[:, :, None]) & own & (order[None, :] <= order[:, None])
        return (seen | (order[None, :] == order[:, None]))[:, None]
