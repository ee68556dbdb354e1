"""How quickly a GPU computes the products with gates and ups, as two kernels and as one.

Needs PyTorch, Triton and the folder `src/populace/models/pytorch`, but no other package:

    python benchmarks/gpu_products.py

Another process does the work: when one way crashes it, or never ends, the others are measured without that one. They
are tried first, which compiles them, and then measured in turn, twice. It ends within 60 seconds, and prints each line
as soon as it is known. A figure is the time of all layers for one prompt.
"""

import argparse
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parents[1] / "src" / "populace" / "models" / "pytorch"
_LAYERS, _PROMPT = 30, 40
"""Layers of the network and tokens of a prompt."""
_SILENCE = 12
"""After so many seconds without a line the process is ended, and begun again without the way that it was at."""
_CRASH = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=[200_000, 50_000])
    parser.add_argument("--width", type=int, default=576)
    parser.add_argument("--half", type=int, default=1536, help="how many gates there are, and as many ups")
    parser.add_argument("--seconds", type=float, default=58, help="when to stop, at the latest")
    parser.add_argument("--only", default="", help="only ways with this text in their names, and the two kernels")
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--without", nargs="*", default=[], help="names of ways that are left out")
    arguments = parser.parse_args()
    if arguments.work:
        _work(arguments)
    else:
        _watch(arguments)


def _watch(arguments: argparse.Namespace) -> None:
    """Print what a process prints, and begin it again without a way that ended it."""
    end = time.monotonic() + arguments.seconds
    without = list(arguments.without)
    while time.monotonic() < end:
        command = [sys.executable, "-u", __file__, *sys.argv[1:], "--work", "--without", *without]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
        current, problem = "", ""
        while not problem:
            try:
                # Importing PyTorch on a fresh machine takes its time.
                patience = _SILENCE if current else arguments.seconds
                line = lines.get(timeout=max(0.1, min(patience, end - time.monotonic())))
            except queue.Empty:
                problem = "did not end"
                break
            if line is None:
                problem = f"ended with code {process.wait()}" if process.wait() else "-"
            elif line.startswith("at: "):
                current = line[4:].strip()
            else:
                print(line, end="", flush=True)
        process.kill()
        if problem == "-":
            return
        print(
            f"{current or 'the beginning'}: {problem} ({arguments.seconds - end + time.monotonic():.0f} s)", flush=True
        )
        if not current or current in without:
            return
        without.append(current)
    print("out of time", flush=True)


def _read(stream: Any, lines: "queue.Queue[str | None]") -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _ways(states: Any, weights: Any) -> dict[str, Callable[[], Any]]:
    """Functions by name."""
    import torch
    import triton_kernels as kernels
    import triton_products as products

    linear, plan = torch.nn.functional.linear, products.Plan
    ways: dict[str, Callable[[], Any]] = {
        "two kernels: linear, gate": lambda: kernels.gate(linear(states, weights)),
        "(linear alone)": lambda: linear(states, weights),
    }
    plans = [
        plan(),
        plan(programs=0),
        plan(stages=4, programs=1),
        plan(columns=128, warps=8, stages=4, programs=1),
        plan(columns=128, warps=8, stages=4, programs=0),
        plan(rows=64, columns=128, programs=2),
        plan(rows=256, warps=8, stages=4, programs=1),
    ]
    for each in plans:
        name = f"{each.rows}x{each.columns} warps={each.warps} stages={each.stages} programs={each.programs}"
        ways[name] = lambda each=each: products.gated_product(states, weights, each)
    return ways


def _work(arguments: argparse.Namespace) -> None:
    import torch

    sys.path.insert(0, str(_PACKAGE))
    import triton

    begin = time.monotonic()
    if not torch.cuda.is_available():
        print("There is no GPU here.")
        return
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, Triton {triton.__version__}")
    torch.manual_seed(0)
    width, half = arguments.width, arguments.half
    weights = (0.06 * torch.randn(2 * half, width, device="cuda")).half()
    everything = torch.randn(max(arguments.tokens), width, device="cuda").half()
    names: list[str] | None = None
    for tokens in arguments.tokens:
        states = everything[:tokens]
        every = _ways(states, weights)
        if names is None:
            names = [name for name in every if arguments.only in name or "linear" in name]
            names = [name for name in names if name not in arguments.without]
            print(f"\n{'compiled in s':>14} {'largest':>9} {'mean':>9}   difference from 32-bit floats", flush=True)
        ways = {name: every[name] for name in names}
        names = _tried(ways, states, weights)
        _measure({name: ways[name] for name in names}, tokens, 4 * half * width, arguments.repeats, begin)


def _tried(ways: dict[str, Callable[[], Any]], states: Any, weights: Any) -> list[str]:
    """The names of the ways that work."""
    import torch

    # Rows from the beginning and the end: 32-bit floats of all of them would take long.
    rows = torch.cat([states[:16_000], states[-5_000:]]).float()
    gates, ups = torch.nn.functional.linear(rows, weights.float()).chunk(2, -1)
    wanted = torch.nn.functional.silu(gates) * ups
    working = []
    for name, compute in ways.items():
        print(f"at: {name}", flush=True)
        try:
            begin = time.monotonic()
            result = compute()
            torch.cuda.synchronize()
            seconds = time.monotonic() - begin
            note = ""
            if result.shape[1] == wanted.shape[1]:
                difference = (torch.cat([result[:16_000], result[-5_000:]]).float() - wanted).abs()
                largest, mean = float(difference.max()), float(difference.mean())
                note = f"{largest:9.2g} {mean:9.2g}"
                if not largest < 0.5:
                    raise ValueError(f"wrong: it differs by {largest:.2g}, on the mean by {mean:.2g}")
            print(f"{seconds:14.2f} {note:19}   {name}", flush=True)
            working.append(name)
        except Exception as error:  # noqa: BLE001 - a compiler has many errors.
            print(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:600]}", flush=True)
            try:
                torch.cuda.synchronize()
            except Exception:  # noqa: BLE001
                # A device that has failed once fails every time in this process.
                sys.exit(_CRASH)
    return working


def _measure(ways: dict[str, Callable[[], Any]], tokens: int, operations: int, repeats: int, begin: float) -> None:
    """Measure ways in turn, twice, and print the table."""
    import torch

    repeats = max(repeats, repeats * 200_000 // tokens)
    figures: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(2):
        for name, compute in ways.items():
            print(f"at: {name}", flush=True)
            for _ in range(max(3, repeats // 5)):
                compute()
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            for _ in range(repeats):
                compute()
            last.record()
            last.synchronize()
            figures[name].append(first.elapsed_time(last) * 1e3 / repeats)
    print(f"\n{tokens} tokens, {time.monotonic() - begin:.0f} s\n{'us a prompt':>16} {'TFLOP/s':>8}", flush=True)
    for name, times in sorted(figures.items(), key=lambda each: min(each[1])):
        both = [each / tokens * _PROMPT * _LAYERS for each in times]
        print(f"{both[0]:8.2f}{both[1]:8.2f} {operations * tokens / min(times) / 1e6:8.0f}   {name}")
    rivals = {name: min(times) for name, times in figures.items() if not name.startswith("(")}
    if rivals:
        best = min(rivals, key=lambda name: rivals[name])
        print(
            f"best for {tokens} tokens: {best}, {rivals[best] / tokens * _PROMPT * _LAYERS:.2f} us a prompt", flush=True
        )


if __name__ == "__main__":
    main()
