"""Tell ranks that their host holds back: the forward pass is slow, the backward pass is not.

Source: methods reference, section 8; Greyhound (USENIX ATC 2025): Python launches the forward pass
kernel by kernel, C++ launches the backward pass, so a busy host shows in the first alone. The
forward pass is a third of the work, and so it is compared by itself: in the sum of both a slowdown
of a fifth is lost.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from detectors.accusations import HOST_CPU
from detectors.promotion import PROMOTED_KINDS, overlap
from detectors.verdicts import Verdict

FORWARD: Final = "forward"

MIN_SHARE: Final = 0.5
"""Both passes are told in half of the rank-steps."""


def forward_paces(part: pl.DataFrame) -> pl.DataFrame:
    """Return the paces of the forward pass; no row where both passes are not told.

    Args:
        part: `PACES` of one attempt and measure.

    Returns:
        `PACES` with measure forward.
    """
    both = pl.all_horizontal(pl.col("forward_seconds", "backward_seconds") > 0)
    told = part.filter((pl.col("measure") == "busy") & both)
    if told.height < MIN_SHARE * part.height:
        return part.clear()
    return told.with_columns(measure=pl.lit(FORWARD), pace_seconds="forward_seconds")


def with_host_side(found: Sequence[Verdict], passes: Sequence[Verdict]) -> list[Verdict]:
    """Return the findings on ranks and hosts, those of a slow host told by the forward pass.

    Args:
        found: By the whole work of a rank.
        passes: By its forward pass; counted where the backward pass is clean.
    """
    hosts = [one for one in passes if one.cause == HOST_CPU and one.kind in PROMOTED_KINDS]
    rest = [one for one in found if not any(_is_same(one, host) for host in hosts)]
    return [*rest, *hosts]


def _is_same(one: Verdict, host: Verdict) -> bool:
    """Return whether a finding is on the same host or rank, at the same time."""
    if one.kind not in PROMOTED_KINDS or not overlap(one, host):
        return False
    same_rank = one.subject.rank is not None and one.subject.rank == host.subject.rank
    same_host = one.subject.host is not None and one.subject.host == host.subject.host
    return same_rank or (same_host and host.level != "rank")
