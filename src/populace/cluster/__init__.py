"""Processes on the nodes of a Ray cluster: started, called and watched from here."""

from populace.cluster.address import LOCAL, ClusterAddress
from populace.cluster.cluster import Cluster, Node, RemotePart
from populace.cluster.messages import Origin

__all__ = ["LOCAL", "Cluster", "ClusterAddress", "Node", "Origin", "RemotePart"]
