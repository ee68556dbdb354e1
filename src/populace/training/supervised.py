"""Supervised training: a network learns the replies of examples, in shuffled parts, and can go on where it stopped."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pydantic

from populace.base.errors import TrainingError
from populace.base.randomness import stream
from populace.training.base_network import MATRICES, Matrix, training_library
from populace.training.examples import TrainingExamples
from populace.training.sequences import ModelVocabulary, Sequences, pack


class Source(Protocol):
    """Where examples come from: parts that can be rendered apart from each other, anew for each pass."""

    @property
    def parts(self) -> int:
        """How many parts there are."""
        ...

    def examples(self, part: int, pass_number: int = 0) -> TrainingExamples:
        """The examples of a part in one pass."""
        ...


class SupervisedSettings(pydantic.BaseModel):
    """How a network is trained.

    Example:
        >>> SupervisedSettings(rank=16).batch
        64
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    rank: int = pydantic.Field(default=32, ge=0, le=512, description="The rank of the adapter; 0 trains all weights.")
    matrices: tuple[Matrix, ...] = pydantic.Field(default=MATRICES, description="What an adapter changes.")
    length: int = pydantic.Field(default=1024, ge=32, le=32_768, description="Tokens in a packed sequence.")
    batch: int = pydantic.Field(default=64, ge=1, le=4096, description="Sequences in a step.")
    learning_rate: float = pydantic.Field(default=1e-3, gt=0, le=1, description="The highest learning rate.")
    warmup: float = pydantic.Field(default=0.03, ge=0, le=1, description="The share of training that warms up.")
    weight_decay: float = pydantic.Field(default=0.01, ge=0, le=1)
    pool: int = pydantic.Field(default=16, ge=1, le=1000, description="Parts that are shuffled together.")
    check_every: int = pydantic.Field(default=4, ge=1, description="Pools between two looks at unseen people.")
    patience: int = pydantic.Field(default=0, ge=0, description="Looks without progress before it ends; 0 for never.")
    seed: int = 0


@dataclass(frozen=True)
class Lesson:
    """A part of a source in a pass."""

    source: int
    pass_number: int
    part: int


def lessons(parts: Sequence[int], passes: Sequence[float], seed: int) -> list[Lesson]:
    """The parts of all sources in the order in which they are learned: each pass shuffled, sources mixed evenly.

    Args:
        parts: How many parts each source has.
        passes: How often each source is gone through; the last pass may be in part.
        seed: The seed of the order.
    """
    placed: list[tuple[float, Lesson]] = []
    for source, (count, times) in enumerate(zip(parts, passes, strict=True)):
        mine: list[Lesson] = []
        for number in range(math.ceil(times)):
            order = stream(seed, f"lessons/{source}/{number}").permutation(count)
            share = min(1.0, times - number)
            mine += [Lesson(source, number, int(part)) for part in order[: max(1, round(share * count))]]
        placed += [((place + 0.5) / len(mine) + source * 1e-9, lesson) for place, lesson in enumerate(mine)]
    return [lesson for _, lesson in sorted(placed, key=lambda pair: pair[0])]


class _Rendering:
    """Lessons as packed sequences, for a loader with several processes."""

    def __init__(
        self, sources: Sequence[Source], vocabulary: ModelVocabulary, order: list[Lesson], length: int
    ) -> None:
        self.sources, self.vocabulary, self.order, self.length = sources, vocabulary, order, length

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, place: int) -> Sequences:
        lesson = self.order[place]
        return pack(self.sources[lesson.source].examples(lesson.part, lesson.pass_number), self.vocabulary, self.length)


@dataclass(frozen=True)
class Look:
    """A look at how training goes.

    Attributes:
        step: How many steps were made.
        progress: The share of training that is done.
        loss: The mean loss since the last look.
        unseen_loss: The loss on people who are not in training; None without such people.
        tokens: How many tokens were read in all.
        targets: How many targets were learned in all.
    """

    step: int
    progress: float
    loss: float
    unseen_loss: float | None
    tokens: int
    targets: int


class Trainer:
    """Trains a network on sources of examples.

    Args:
        model: The network, as `load_base` gives it, with an adapter where one is wanted.
        vocabulary: Its tokens.
        settings: How to train.
        folder: Where the state is kept, so that training can go on after an interruption; None keeps nothing.
        workers: How many processes render examples; 0 renders in this one.
    """

    def __init__(
        self,
        model: Any,
        vocabulary: ModelVocabulary,
        settings: SupervisedSettings,
        *,
        folder: Path | None = None,
        workers: int = 0,
    ) -> None:
        self.model, self.vocabulary, self.settings = model, vocabulary, settings
        self.folder, self.workers = folder, workers
        torch = training_library("torch")
        self.device = next(model.parameters()).device
        self.trained = {name: each for name, each in model.named_parameters() if each.requires_grad}
        fused = self.device.type == "cuda"
        self.optimizer = torch.optim.AdamW(
            self.trained.values(), lr=settings.learning_rate, weight_decay=settings.weight_decay,
            betas=(0.9, 0.98), fused=fused,
        )  # fmt: skip
        self.attention = TreeAttention(model)
        self.looks: list[Look] = []
        self._done = self._step = self._tokens = self._targets = 0
        self._best = math.inf
        self._waiting = 0

    def train(
        self,
        sources: Sequence[Source],
        passes: Sequence[float],
        *,
        unseen: TrainingExamples | None = None,
        watch: Callable[[Look], None] = lambda look: None,
    ) -> None:
        """Go through the sources, from where an earlier training in the same folder stopped.

        Args:
            sources: Where examples come from.
            passes: How often each source is gone through.
            unseen: Examples of people who are not in training, looked at on the way.
            watch: Called at every look.
        """
        settings = self.settings
        order = lessons([source.parts for source in sources], passes, settings.seed)
        self._restore()
        checked = None if unseen is None or not len(unseen) else pack(unseen, self.vocabulary, settings.length)
        pools = range(self._done, len(order), settings.pool)
        rendered = self._rendered(sources, order[self._done :])
        losses: list[float] = []
        for number, start in enumerate(pools, self._done // settings.pool + 1):
            members = [next(rendered) for _ in range(min(settings.pool, len(order) - start))]
            losses += self._learn(Sequences.concat(members), start / len(order), len(members) / len(order))
            self._done = start + len(members)
            last = self._done == len(order)
            if number % settings.check_every and not last:
                continue
            look = Look(
                self._step, self._done / len(order), float(np.mean(losses)) if losses else math.nan,
                None if checked is None else self.loss_on(checked), self._tokens, self._targets,
            )  # fmt: skip
            losses = []
            self.looks.append(look)
            watch(look)
            ended = self._ends(look)
            self._save()
            if ended:
                break
        self._load_best()

    def _rendered(self, sources: Sequence[Source], order: list[Lesson]) -> Iterator[Sequences]:
        rendering = _Rendering(sources, self.vocabulary, order, self.settings.length)
        if not self.workers:
            return (rendering[place] for place in range(len(rendering)))
        loader = training_library("torch.utils.data").DataLoader(
            rendering, batch_size=None, num_workers=self.workers, multiprocessing_context="spawn", prefetch_factor=4
        )
        return iter(loader)

    def _learn(self, sequences: Sequences, before: float, share: float) -> list[float]:
        """Learn the sequences of a pool once, shuffled."""
        settings = self.settings
        order = stream(settings.seed, f"shuffle/{self._done}").permutation(len(sequences))
        losses = []
        self.model.train()
        for start in range(0, len(order), settings.batch):
            rows = order[start : start + settings.batch]
            rate = settings.learning_rate * self._schedule(before + share * start / max(1, len(order)))
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            batch = sequences.take(rows)
            loss = self.attention.loss(batch, settings.batch)
            loss.backward()
            training_library("torch").nn.utils.clip_grad_norm_(self.trained.values(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            losses.append(loss.detach())
            self._step += 1
            self._tokens += int((batch.trees > 0).sum())
            self._targets += len(np.unique(batch.target_examples * len(batch) + batch.target_sequences))
        return [float(loss) for loss in losses]

    def _schedule(self, progress: float) -> float:
        """The learning rate as a share of the highest: it rises, then falls as a cosine to 2 %."""
        warmup = self.settings.warmup
        if progress < warmup:
            return max(0.01, progress / warmup)
        return max(0.02, 0.5 * (1 + math.cos(math.pi * (progress - warmup) / max(1e-9, 1 - warmup))))

    def loss_on(self, sequences: Sequences) -> float:
        """The mean loss on packed sequences, without learning from them."""
        torch = training_library("torch")
        self.model.eval()
        total = weight = 0.0
        with torch.no_grad():
            for start in range(0, len(sequences), self.settings.batch):
                rows = np.arange(start, min(start + self.settings.batch, len(sequences)))
                batch = sequences.take(rows)
                mine = float(batch.target_weights.sum())
                total += float(self.attention.loss(batch, self.settings.batch)) * mine
                weight += mine
        return total / weight

    def _ends(self, look: Look) -> bool:
        """Whether to end because unseen people are predicted no better; the best weights are kept."""
        if look.unseen_loss is None or not self.settings.patience:
            return False
        if look.unseen_loss < self._best:
            self._best, self._waiting = look.unseen_loss, 0
            self._keep("best.pt", {name: each.detach().cpu() for name, each in self.trained.items()})
            return False
        self._waiting += 1
        return self._waiting >= self.settings.patience

    def _save(self) -> None:
        state = {
            "weights": {name: each.detach().cpu() for name, each in self.trained.items()},
            "optimizer": self.optimizer.state_dict(),
            "counts": [self._done, self._step, self._tokens, self._targets, self._waiting],
            "best": self._best,
            "looks": [[*vars(look).values()] for look in self.looks],
        }
        self._keep("state.pt", state)

    def _keep(self, name: str, state: object) -> None:
        if self.folder is None:
            return
        torch = training_library("torch")
        self.folder.mkdir(parents=True, exist_ok=True)
        new = self.folder / f"{name}.new"
        torch.save(state, new)
        new.replace(self.folder / name)

    def _restore(self) -> None:
        path = None if self.folder is None else self.folder / "state.pt"
        if path is None or not path.is_file():
            return
        state = self._read(path)
        self._enter(state["weights"])
        self.optimizer.load_state_dict(state["optimizer"])
        self._done, self._step, self._tokens, self._targets, self._waiting = state["counts"]
        self._best = state["best"]
        self.looks = [Look(*values) for values in state["looks"]]

    def _load_best(self) -> None:
        path = None if self.folder is None else self.folder / "best.pt"
        if self.settings.patience and path is not None and path.is_file():
            self._enter(self._read(path))

    def _read(self, path: Path) -> Any:
        try:
            # Only numbers and plain containers are read; nothing in the file can run.
            return training_library("torch").load(path, map_location="cpu", weights_only=True)
        except (OSError, RuntimeError, ValueError, KeyError, EOFError) as error:
            raise TrainingError(f"{path} is damaged: {error}.", "Remove it; training then begins anew.") from error

    def _enter(self, weights: dict[str, Any]) -> None:
        torch = training_library("torch")
        if set(weights) != set(self.trained):
            raise TrainingError("the state in the folder belongs to another network.", "Name another folder.")
        with torch.no_grad():
            for name, each in self.trained.items():
                each.copy_(weights[name])


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
        precise = torch.autocast("cuda", torch.bfloat16) if self._flexible else torch.autocast("cpu", enabled=False)
        with precise:
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
