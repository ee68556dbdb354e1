"""A picture of prices over the rounds."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from populace.runs.charts import PALETTE
from populace.runs.reader import RunReader
from populace.runs.settings_text import decider_text
from populace.worlds.market import LogitMarket


def draw_prices(run: RunReader, market: LogitMarket, path: Path) -> Path:
    """Draw the price of every seller in every market, between the two known prices.

    Args:
        run: A run of the scenario.
        market: The market, with its two known prices.
        path: The file to write; its suffix says in which format.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 3.6), layout="constrained")
    axes = figure.subplots()
    prices = run.history("prices")
    faint = max(0.15, 1 / prices["market"].n_unique())
    for (_, seller), part in prices.group_by("market", "seller", maintain_order=True):
        axes.plot(part["step"], part["price"], color=PALETTE[int(seller) % len(PALETTE)], linewidth=1, alpha=faint)
    mean = prices.group_by("step").agg(pl.col("price").mean()).sort("step")
    axes.plot(mean["step"], mean["price"], color="#000000", linewidth=2, label="mean price")
    axes.axhline(market.competitive, color="#666666", linestyle="--", linewidth=1, label="competitive price")
    axes.axhline(market.joint, color="#666666", linestyle=":", linewidth=1.4, label="joint (cartel) price")
    axes.set_xlabel("round")
    axes.set_ylabel("price")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    regime = run.manifest.regime
    who = decider_text(regime.decider, regime.model)
    axes.set_title(f"{run.name} · {who} · seed {regime.seed}", loc="left", fontsize=10)
    figure.savefig(path, dpi=150)
    return path
