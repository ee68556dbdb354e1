"""Money is printed with the currency of the price table, and an unknown price as unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from populace.base.errors import UsageError
from populace.broker import FREE, CallSettings, Price, Usage, cost_text, currency, money_text, price_of
from support.commands import populace
from support.fake_server import FakeServer

TABLE = 'currency = "EUR"\n["http://*"]\nprompt = 1000000\ncompletion = 2000000\n'


@pytest.fixture
def prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "prices.toml"
    path.write_text(TABLE)
    monkeypatch.setenv("POPULACE_PRICES", str(path))
    return path


def test_an_amount_is_printed_with_the_currency_of_the_price_table(prices):
    assert (currency(), money_text(1234.5), money_text(0.5, 2)) == ("EUR", "1,234.5000 EUR", "0.50 EUR")
    assert price_of("http://127.0.0.1:1/v1#x") == Price(1e6, 2e6)


def test_a_table_without_a_currency_says_so(prices):
    prices.write_text('["http://*"]\nprompt = 1\ncompletion = 2\n')
    assert money_text(1.0) == "1.0000 (currency not named)"


def test_a_changed_table_is_read_anew(prices):
    assert currency() == "EUR"
    prices.write_text('currency = "CHF"\n')
    assert (currency(), price_of("http://127.0.0.1:1/v1#x")) == ("CHF", None)


@pytest.mark.parametrize("unit", ["7", '"a very long name of a currency"', '"\\u001b[31m"', "[1]"])
def test_a_currency_that_is_no_short_text_is_refused(unit, prices):
    prices.write_text(f"currency = {unit}\n")
    with pytest.raises(UsageError, match="currency is no short text"):
        currency()


@pytest.mark.parametrize(
    "amount",
    ["1" + "0" * 400, "1" + "0" * 9000, "nan", "inf", "-1", "true2", '"x"', "[1]", "[" * 5000, "{a = 1}", "1979-05-27"],
)
@pytest.mark.parametrize("kind", ["prompt", "completion"])
def test_an_amount_that_is_no_price_is_refused(kind, amount, prices):
    other = "completion" if kind == "prompt" else "prompt"
    prices.write_text(f'["http://*"]\n{kind} = {amount}\n{other} = 1\n')
    with pytest.raises(UsageError, match="the price table .* cannot be read: ") as raised:
        price_of("http://127.0.0.1:1/v1#x")
    assert len(raised.value.what) < 600


@pytest.mark.parametrize("text", ["a = 5", "a = [5]", "[a]", "[" * 5000, "currency = 'EUR'\n[[a]]\nprompt = 1"])
def test_a_table_without_prices_is_refused(text, prices):
    prices.write_text(text + "\n")
    with pytest.raises(UsageError, match="the price table .* cannot be read: "):
        currency()


def test_an_unknown_price_is_no_cost_of_nothing(prices):
    assert cost_text(0.0, FREE) == "no cost"
    assert cost_text(0.0, None) == "cost unknown, as no price is known"
    assert cost_text(1.5, Price(1, 2)) == "cost 1.5000 EUR"
    assert cost_text(1.5, Price(1, 2), None) == "cost 1.5000 EUR and more, of unknown price"


def test_a_limit_of_money_is_named_with_its_currency(prices):
    with pytest.raises(Exception, match=r"the budget of 5 EUR is reached \(6 spent\)"):
        CallSettings(max_money=5).check(Usage(cost=6.0), 0.0)


def test_estimate_and_run_print_the_currency_or_that_the_cost_is_unknown(prices, tmp_path):
    with FakeServer() as server:
        arguments = ["norms", "--workers", "2", "--days", "1", "--model", f"{server.url}#fake-1"]
        workspace = ["--workspace", str(tmp_path)]
        estimate = populace("estimate", *arguments, *workspace).stdout
        run = populace("run", *arguments, *workspace, "--no-chart").stdout
        prices.unlink()
        unpriced_estimate = populace("estimate", *arguments, *workspace).stdout
        shown = populace("show", "last", *workspace).stdout
    assert "EUR" in next(line for line in estimate.splitlines() if "cost" in line)
    assert "EUR" in next(line for line in run.splitlines() if "made," in line)
    assert "unknown" in next(line for line in unpriced_estimate.splitlines() if "cost" in line)
    assert "of unknown price" in " ".join(shown.split())
