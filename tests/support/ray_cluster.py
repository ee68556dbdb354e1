"""A real Ray cluster of several nodes on this machine, in a process of its own.

`ray.cluster_utils.Cluster` starts a head and further nodes. The process that does so is told on its standard input to
add a node, to kill one, or to lose the head; tests themselves never connect to Ray.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import Any, Self


class RayCluster:
    """A cluster with one processor on each node.

    Args:
        nodes: How many nodes, the head among them.
        apart: Whether it is a session of its own; Linux divides a busy machine among sessions, not among processes.
    """

    def __init__(self, nodes: int, *, apart: bool = True) -> None:
        environment = os.environ | {"RAY_USAGE_STATS_ENABLED": "0"}
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(nodes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
            start_new_session=apart,
        )
        greeting = self._line()
        self.address: str = greeting["address"]
        self.client_address: str = greeting["client"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add_node(self) -> None:
        """Start one more node."""
        self._do("add")

    def kill_node(self) -> None:
        """Kill the node that was added last, as a power failure would."""
        self._do("kill")

    def kill_head(self) -> None:
        """Kill the process that knows the cluster."""
        self._do("head")

    def close(self) -> None:
        """End all nodes."""
        if self._process.stdin is not None and self._process.stdout is not None:
            self._process.stdin.close()
            self._process.wait(timeout=60)
            self._process.stdout.close()

    def _do(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        self._line()

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


def _main() -> None:
    from ray.cluster_utils import Cluster

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    head = {"num_cpus": 1, "include_dashboard": False, "ray_client_server_port": port}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(num_cpus=1) for _ in range(int(sys.argv[1]) - 1)]
    print(json.dumps({"address": cluster.address, "client": f"ray://127.0.0.1:{port}"}), flush=True)
    for line in sys.stdin:
        match line.strip():
            case "add":
                nodes.append(cluster.add_node(num_cpus=1))
            case "kill":
                cluster.remove_node(nodes.pop(), allow_graceful=False)
            case "head":
                cluster.head_node.kill_gcs_server()
        print(json.dumps({}), flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    _main()
