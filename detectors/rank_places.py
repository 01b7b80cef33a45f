"""Where ranks are: their hosts and GPUs, and whether some ranks are all of a host's."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

MIN_BLOCK: Final = 4
"""Ranks in a row that may be a host of which nothing else is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where ranks are.

    Attributes:
        hosts: Host by run and rank.
        gpus: GPU number by run and rank.
    """

    hosts: Mapping[tuple[str | None, int], str]
    gpus: Mapping[tuple[str | None, int], int]

    @classmethod
    def of(cls, roles: pl.LazyFrame) -> "Places":
        """Return the places in `ROLES`."""
        rows = roles.select("run", "rank", "host", "index").collect().rows()
        return cls(
            hosts={(run, rank): host for run, rank, host, _ in rows if host},
            gpus={(run, rank): gpu for run, rank, _, gpu in rows if gpu is not None},
        )

    def whole_host(self, run: str | None, ranks: list[int]) -> str | None:
        """Return the one host whose ranks these are, all of them and no other; else null."""
        hosts = {self.hosts.get((run, rank)) for rank in ranks}
        if len(ranks) < 2 or len(hosts) != 1:  # noqa: PLR2004 -- one rank is no host
            return None
        (host,) = hosts
        there = {rank for (one, rank), name in self.hosts.items() if one == run and name == host}
        others = {name for (one, _), name in self.hosts.items() if one == run} - {host}
        return host if there == set(ranks) and others else None

    def is_block(self, run: str | None, ranks: list[int], world: int) -> bool:
        """Return whether ranks are as many in a row as hosts have, from where a host begins.

        Args:
            run: The run, whose hosts show how many ranks one has; where none is known, a job's
                ranks are a multiple of a host's.
            ranks: In order.
            world: How many ranks the run has.
        """
        if len(ranks) < 2 or ranks[-1] - ranks[0] + 1 != len(ranks):  # noqa: PLR2004 -- as above
            return False
        counts = Counter(host for (one, _), host in self.hosts.items() if one == run)
        if counts:
            usual = max(counts.values())
            return len(ranks) % usual == 0 and ranks[0] % usual == 0
        is_even = ranks[0] % len(ranks) == 0 and world % len(ranks) == 0
        return len(ranks) >= MIN_BLOCK and is_even
