"""Players of the `axelrod` package, which takes seconds to import and is imported only when a tournament begins."""

import functools
from typing import Any

from populace.base.errors import ParameterError, UnknownNameError, UsageError


def package() -> Any:
    """The `axelrod` package."""
    try:
        import axelrod
    except ImportError as error:
        raise UsageError(
            "a tournament needs the axelrod package.", "Install it with: pip install 'populace[games]'"
        ) from error
    return axelrod


@functools.cache
def _strategies() -> dict[str, Any]:
    return {strategy.name: strategy for strategy in package().all_strategies}


def player(name: str, *, turns: int, payoffs: tuple[float, float, float, float], seed: int) -> Any:
    """A new player of a strategy, ready for a match.

    Args:
        name: The strategy, by the name that the package gives it, such as `Tit For Tat`.
        turns: How many rounds the match will have; a few strategies use that.
        payoffs: Reward, sucker's payoff, temptation and punishment.
        seed: The seed of a strategy that uses random numbers.
    """
    package_ = package()
    strategies = _strategies()
    if name not in strategies:
        raise UnknownNameError("strategy in the axelrod package", name, strategies)
    new_player = strategies[name]()
    if not package_.Classifiers.obey_axelrod(new_player):
        raise ParameterError(
            f"{name} reads or changes the state of its opponent, which is impossible against a person."
        )
    reward, sucker, temptation, punishment = payoffs
    new_player.set_match_attributes(
        length=turns, game=package_.Game(r=reward, s=sucker, t=temptation, p=punishment), noise=0
    )
    if package_.Classifiers["stochastic"](new_player):
        new_player.set_seed(seed)
    return new_player


def cooperates(player: Any, opponent: Any) -> bool:
    """Whether a player cooperates in the coming round."""
    return bool(player.strategy(opponent) == package().Action.C)


def remember(player: Any, cooperated: bool, other_cooperated: bool) -> None:
    """Record the moves of a round in the history of a player."""
    action = package().Action
    player.update_history(action.C if cooperated else action.D, action.C if other_cooperated else action.D)
