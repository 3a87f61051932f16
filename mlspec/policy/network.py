"""Rules about what the network opens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from mlspec.policy.subject import Path, Rule, Subject, Violation
from mlspec.reachability.networks import Network, is_metadata, is_world, network
from mlspec.spec.surroundings import Destination


class _Use(NamedTuple):
    """A destination that a step or service reaches, and the field because of which it does."""

    name: str
    destination: Destination
    path: Path

    @property
    def networks(self) -> list[Network]:
        """Its networks; none where it is pods."""
        return [network(cidr) for cidr in self.destination.cidrs]


def metadata_service(subject: Subject) -> Iterator[Violation]:
    """The destination is the metadata service of a cloud: whatever may reach it gets the credentials of the node,
    with which it may be more than any ServiceAccount. What is link-local counts, and the addresses that Alibaba, AWS,
    Azure, Google and Oracle have for such services elsewhere. Networks that hold 169.254.169.254 or fd00:ec2::254
    beside other addresses are opened without them. Give workloads an identity of their own
    (`serviceAccounts.annotations`), and remove the destination.
    """
    for uses in _uses(subject):
        for use in uses:
            found = [str(each) for each in use.networks if is_metadata(each)]
            if found:
                where = " and ".join(found)
                message = f"`{use.name}` of environment {subject.name} is the metadata service of the cloud, {where}"
                help = "remove it; cloud identity is `serviceAccounts.annotations` in the environment"
                yield Violation(message, use.path, help)


def world(subject: Subject) -> Iterator[Violation]:
    """Pods may reach every address there is, so whatever runs in them may send data anywhere. A NetworkPolicy knows no
    host names; write the networks of the provider as `cidrs`, or let pods reach a proxy (`namespace` with `podLabels`)
    that knows them. Networks that are the whole internet only together count, too.
    """
    for uses in _uses(subject):
        before: dict[int, list[Network]] = {}
        for use in uses:
            alone = is_world(use.networks)
            together = []
            for port in use.destination.ports:
                before.setdefault(port, []).extend(use.networks)
                together += [] if alone or not use.networks or not is_world(before[port]) else [port]
            if alone:
                message = f"`{use.name}` of environment {subject.name} is every address there is"
            elif together:
                message = (
                    f"`{use.name}` and what is reached beside it are every address there is, on port {together[0]}"
                )
            else:
                continue
            help = f"name the networks that are meant in environments/{subject.name}.yaml, or accept it with `allow`"
            yield Violation(message, use.path, help)


def _uses(subject: Subject) -> Iterator[list[_Use]]:
    """Yield what each step and service reaches, once a destination; what there is not is told elsewhere."""
    known = subject.environment.network.destinations
    facts = {(each.workload.section, each.workload.name): each.facts.destinations for each in subject.plan.workloads}
    for place, spec in subject.specs():
        named: list[tuple[str, Path]] = [(name, (*place, "egress", at)) for at, name in enumerate(spec.egress)]
        named += [(reference.name, (*place, *reference.path)) for reference in facts.get(place, ())]
        first: dict[str, Path] = {}
        for name, path in named:
            first.setdefault(name, path)
        yield [_Use(name, known[name], path) for name, path in first.items() if name in known]


RULES: Final = (Rule("MLS420", metadata_service), Rule("MLS421", world))
