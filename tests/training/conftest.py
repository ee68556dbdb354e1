import importlib.util
from pathlib import Path

import pytest

from support.tiny_models import tiny_folder

_MISSING = [name for name in ("torch", "transformers", "peft") if importlib.util.find_spec(name) is None]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if _MISSING:
        skip = pytest.mark.skip(reason=f"training needs {', '.join(_MISSING)}: pip install 'populace[train]'")
        for item in items:
            if Path(item.path).parent == Path(__file__).parent:
                item.add_marker(skip)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Threads wait for each other longer than such a small network takes."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random network of two layers whose tokens are bytes."""
    return tiny_folder(tmp_path_factory.mktemp("base") / "tiny")
