"""Turn recorded scrapes into one OpenMetrics text that promtool makes storage blocks from.

Every family stands in one piece, times are seconds, and each series gets the `job` and `instance`
that a scrape would have given it. Counters are declared `unknown`: OpenMetrics would want `_total`
at the end of their names, and dcgm-exporter's have none.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

_SAMPLE: Final = r"^(?<name>[A-Za-z_:][A-Za-z0-9_:]*)\{(?<labels>.*)\} (?<value>\S+) (?<ms>\d+)$"
_GAUGE: Final = r"^# TYPE (\S+) gauge$"


class NoScrapesError(FileNotFoundError):
    """There is nothing recorded below the folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """What a scrape configuration would call an exporter."""

    job: str
    port: int


_TARGETS: Final = {
    "dcgm": _Target(job="dcgm-exporter", port=9400),
    "fabric": _Target(job="node-exporter", port=9100),
}
_FABRIC_MANAGER: Final = _Target(job="infiniband-exporter", port=9315)


def write_openmetrics(sources: Path, out: Path) -> None:
    """Write all recorded scrapes below a folder as one OpenMetrics text.

    Args:
        sources: The folder that `simulate` wrote `dcgm` and `fabric` into.
        out: The file to write.

    Raises:
        NoScrapesError: No `.prom` file is below `sources`.
    """
    found = {folder: sorted((sources / folder).glob("*.prom")) for folder in _TARGETS}
    if not any(found.values()):
        raise NoScrapesError(
            f"no *.prom file below {sources}/dcgm or {sources}/fabric; run simulate() first"
        )
    with out.open("w", encoding="utf-8") as file:
        for folder, paths in found.items():
            if paths:
                samples, gauges = _read_pages(paths, _TARGETS[folder])
                for text in _family_texts(samples, gauges):
                    file.write(text)
        file.write("# EOF\n")


def _read_pages(paths: list[Path], target: _Target) -> tuple[pl.DataFrame, set[str]]:
    """Return the samples with their labels completed, and the names declared as gauges."""
    pages: list[pl.DataFrame] = []
    gauges: set[str] = set()
    for path in paths:
        lines = pl.Series("line", path.read_text(encoding="utf-8").split("\n"))
        parts = lines.str.extract_groups(_SAMPLE).struct.unnest().drop_nulls("name")
        own = _FABRIC_MANAGER if path.stem == "infiniband_exporter" else target
        added = f',instance="{path.stem}:{own.port}",job="{own.job}"'
        pages.append(parts.with_columns(labels=pl.col("labels") + added))
        gauges |= set(lines.str.extract(_GAUGE).drop_nulls())
    return pl.concat(pages), gauges


def _family_texts(samples: pl.DataFrame, gauges: set[str]) -> Iterator[str]:
    """Yield each family's text, by name; its series in order, their samples in time."""
    ms = pl.col("ms")
    seconds = pl.concat_str(ms.str.head(-3), pl.lit("."), ms.str.tail(3))
    line = pl.concat_str("name", pl.lit("{"), "labels", pl.lit("} "), "value", pl.lit(" "), seconds)
    for (name,), family in sorted(samples.partition_by("name", as_dict=True).items()):
        ordered = family.sort("labels", pl.col("ms").cast(pl.Int64))
        kind = "gauge" if name in gauges else "unknown"
        rows = ordered.select(line.alias("line")).to_series().to_list()
        yield "\n".join([f"# TYPE {name} {kind}", *rows]) + "\n"
