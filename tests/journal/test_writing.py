"""Files that are written: what stands in their place."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from populace.base.errors import StorageError
from populace.journal.segments import writing


def test_a_pipe_that_nobody_reads_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StorageError), writing(tmp_path / "pipe"):
        pytest.fail("it is not written")


def test_the_reader_of_a_pipe_stays_until_the_file_is_written(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    texts: list[str] = []
    reader = threading.Thread(target=lambda: texts.append(path.read_text()), daemon=True)
    reader.start()
    deadline = time.monotonic() + 10
    while True:
        try:
            with writing(path):
                time.sleep(0.05)  # A reader that saw an end would leave meanwhile, and the next line would wait.
                path.write_text("all of it")
            break
        except StorageError:  # The reader has not come yet.
            assert time.monotonic() < deadline
            time.sleep(0.01)
    reader.join(10)
    assert texts == ["all of it"]
