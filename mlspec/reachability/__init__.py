"""Who may reach whom: NetworkPolicies as manifests in, verdicts on packets out; pure.

The semantics are those of the networking.k8s.io/v1 API reference, and agree with sigs.k8s.io/kube-network-policies
(tests/test_reachability.py). What no policy can refuse is not asked here: traffic of a pod with itself, and of a node
with its pods.
"""

from __future__ import annotations

from mlspec.reachability.endpoints import ContainerPort, Endpoint, pod
from mlspec.reachability.evaluate import allows, is_on, lets_in, lets_out, ports_in, ports_out
from mlspec.reachability.policies import Block, Peer, Policy, PortRange, Requirement, Rule, Selector, parse

__all__ = [
    "Block",
    "ContainerPort",
    "Endpoint",
    "Peer",
    "Policy",
    "PortRange",
    "Requirement",
    "Rule",
    "Selector",
    "allows",
    "is_on",
    "lets_in",
    "lets_out",
    "parse",
    "pod",
    "ports_in",
    "ports_out",
]
