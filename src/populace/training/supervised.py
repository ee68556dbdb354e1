"""Supervised training: a network learns the replies of examples, in shuffled parts, and can go on where it stopped."""

from __future__ import annotations

import math
import multiprocessing.resource_tracker
import signal
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from populace.base.errors import TrainingError
from populace.base.randomness import stream
from populace.training.base_network import enough_memory, training_library
from populace.training.examples import TrainingExamples
from populace.training.sequences import ModelVocabulary, Sequences, pack
from populace.training.supervised_settings import SupervisedSettings
from populace.training.training_state import BEST, STATE, enter_weights, read_state, write_state
from populace.training.tree_attention import TreeAttention


class Source(Protocol):
    """Where examples come from: parts that can be rendered apart from each other, anew for each pass."""

    @property
    def parts(self) -> int:
        """How many parts there are."""
        ...

    def examples(self, part: int, pass_number: int = 0) -> TrainingExamples:
        """The examples of a part in one pass."""
        ...


@runtime_checkable
class LargeSource(Source, Protocol):
    """A source that can put what it holds into files before it is sent to other processes."""

    def stored_in(self, folder: Path) -> Source:
        """The same source, with its tables in a folder that does not exist yet."""
        ...


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


@contextmanager
def _deferred_interrupts() -> Iterator[None]:
    """Processes that start inside never see Ctrl-C, which a terminal sends to all; this one sees it afterwards."""
    multiprocessing.resource_tracker.ensure_running()  # It would end the block when it starts.
    calls: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    is_handled = callable(handler) and threading.current_thread() is threading.main_thread()
    if is_handled:  # A signal that is blocked in this thread may reach another one.
        signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Processes inherit it.
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if is_handled:
            signal.signal(signal.SIGINT, handler)
    if calls and callable(handler):
        handler(signal.SIGINT, None)


class Trainer:
    """Trains a network on sources of examples.

    Args:
        model: The network, as `load_base` gives it, with an adapter where one is wanted.
        vocabulary: Its tokens.
        settings: How to train.
        folder: Where the state is kept, so that training can go on after an interruption; None keeps nothing.
        workers: How many processes render examples; 0 renders in this one.
        identity: What the training is; a state of another in the folder is refused.
    """

    def __init__(
        self,
        model: Any,
        vocabulary: ModelVocabulary,
        settings: SupervisedSettings,
        *,
        folder: Path | None = None,
        workers: int = 0,
        identity: str = "",
    ) -> None:
        self.model, self.vocabulary, self.settings = model, vocabulary, settings
        self.folder, self.workers, self.identity = folder, workers, identity
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
        self.too_long = 0
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
        if 0 < settings.patience <= self._waiting:
            order = order[: self._done]  # It ended before, because unseen people were predicted no better.
        checked = None if unseen is None or not len(unseen) else pack(unseen, self.vocabulary, settings.length)
        with closing(self._rendered(sources, order[self._done :])) as rendered:
            self._learn_pools(rendered, len(order), checked, watch)
        self._load_best()

    def _learn_pools(
        self, rendered: Iterator[Sequences], count: int, checked: Sequences | None, watch: Callable[[Look], None]
    ) -> None:
        """Learn what is left of a number of lessons, and look at unseen people on the way."""
        settings = self.settings
        losses: list[float] = []
        for number, start in enumerate(range(self._done, count, settings.pool), self._done // settings.pool + 1):
            members = [next(rendered) for _ in range(min(settings.pool, count - start))]
            pool = Sequences.concat(members)
            self.too_long += pool.too_long
            if not len(pool):
                raise TrainingError(
                    f"none of {pool.too_long} examples fits into {settings.length} tokens.",
                    "Raise `length` in the plan.",
                )
            losses += self._learn(pool, start / count, len(members) / count)
            self._done = start + len(members)
            last = self._done == count
            if number % settings.check_every and not last:
                continue
            look = Look(
                self._step, self._done / count, float(np.mean(losses)) if losses else math.nan,
                None if checked is None else self.loss_on(checked), self._tokens, self._targets,
            )  # fmt: skip
            losses = []
            self.looks.append(look)
            ended = self._ends(look)
            self._save()
            watch(look)
            if ended:
                break

    def _rendered(self, sources: Sequence[Source], order: list[Lesson]) -> Generator[Sequences]:
        if not self.workers:
            rendering = _Rendering(sources, self.vocabulary, order, self.settings.length)
            yield from (rendering[place] for place in range(len(rendering)))
            return
        with tempfile.TemporaryDirectory(prefix="populace-") as folder:
            # A process starts only when the one before it has read what it is sent, so little is sent.
            stored = [
                each.stored_in(Path(folder) / str(number)) if isinstance(each, LargeSource) else each
                for number, each in enumerate(sources)
            ]
            yield from self._loaded(_Rendering(stored, self.vocabulary, order, self.settings.length))

    def _loaded(self, rendering: _Rendering) -> Generator[Sequences]:
        """What other processes render."""
        loader = training_library("torch.utils.data").DataLoader(
            rendering, batch_size=None, num_workers=self.workers, multiprocessing_context="spawn", prefetch_factor=4
        )
        with _deferred_interrupts():
            batches = iter(loader)
        try:
            yield from batches
        finally:
            with _deferred_interrupts():
                del batches  # Its processes end here; PyTorch would lose an interruption meanwhile.

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
            with self._enough_memory():
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

    def _enough_memory(self) -> AbstractContextManager[None]:
        return enough_memory(
            f"{self.settings.batch} sequences of {self.settings.length} tokens",
            "Lower `batch` or `length` in the plan; what was learned up to the last look is kept.",
        )

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
        with torch.no_grad(), self._enough_memory():
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
            if self.folder is not None:
                write_state(self.folder / BEST, self.trained)
            return False
        self._waiting += 1
        return self._waiting >= self.settings.patience

    def _save(self) -> None:
        if self.folder is None:
            return
        tensors = dict(self.trained)
        for name, each in self.trained.items():
            tensors |= {f"{key}/{name}": value for key, value in self.optimizer.state[each].items()}
        counts = [self._done, self._step, self._tokens, self._targets, self._waiting]
        best = None if math.isinf(self._best) else self._best
        facts = {
            "identity": self.identity,
            "counts": counts,
            "best": best,
            "too_long": self.too_long,
            "looks": [[*vars(look).values()] for look in self.looks],
        }
        write_state(self.folder / STATE, tensors, facts)

    def _restore(self) -> None:
        path = None if self.folder is None else self.folder / STATE
        if path is None or not path.is_file():
            return
        tensors, facts = read_state(path)
        if facts.get("identity") != self.identity:
            raise TrainingError(
                f"{path.parent} holds the state of another plan, or of other data.",
                "Name another folder with --to, or remove this one to begin anew.",
            )
        enter_weights(self.trained, {name: each for name, each in tensors.items() if "/" not in name})
        for name, each in self.trained.items():
            keys = {key: value for key, value in tensors.items() if key.endswith(f"/{name}")}
            self.optimizer.state[each] = {
                key.partition("/")[0]: value if value.ndim == 0 else value.to(each.device)
                for key, value in keys.items()
            }
        self._done, self._step, self._tokens, self._targets, self._waiting = facts["counts"]
        self._best = math.inf if facts["best"] is None else facts["best"]
        self.too_long = facts.get("too_long", 0)
        self.looks = [Look(*values) for values in facts["looks"]]

    def _load_best(self) -> None:
        path = None if self.folder is None else self.folder / BEST
        if self.settings.patience and path is not None and path.is_file():
            enter_weights(self.trained, read_state(path)[0])
