"""Read what nccl-tests write with `-J`: one JSON document a run.

Source: formats of NCCL logs, section 7 (NVIDIA/nccl-tests `src/util.cu`, versions 1 and 2).
Booleans are text, `nan` is text, `root` is padded. `env` is the whole environment, secrets
included: nothing of it is kept, not even in a reject.
"""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from collectors.communication.nccl_test_devices import HOSTS_BETWEEN
from collectors.frames import EVENTS, PLACEMENTS, TRANSFERS
from collectors.identity import canonical_host, pci_address
from collectors.readings import Reading, count_lines, reading_of
from collectors.sniffing import Head, ReadOptions
from collectors.texts.cut_documents import read_cut_documents
from collectors.texts.json_documents import Document, items_of, mapping_of, rejects_of, text_of
from collectors.texts.json_numbers import whole_of
from collectors.texts.label_rows import label_rows
from collectors.texts.plain_counts import count_of
from collectors.texts.stamps import iso_time

_HALVES: Final = ("out_of_place", "in_place")

_CHECKS: Final = {
    "out_of_bounds": "out of bounds values",
    "bitwise_mismatches": "bitwise mismatches",
}

_NOT_OKAY: Final = ("false", False)

_PROGRAM: Final = re.compile(r"(\w+?)_perf(?:_mpi)?$")


def wants_nccl_test_documents(head: Head) -> float:
    """Return how sure it is that a head is such a document: its first keys, or its results."""
    text = head.text
    if not text.lstrip().startswith("{"):
        return 0.0
    is_start = all(key in text for key in ('"nccl_version"', '"args"', '"env"'))
    is_result = '"out_of_place"' in text and '"bus_bw"' in text
    return 0.97 if is_start or is_result else 0.0


def read_nccl_test_documents(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what documents of nccl-tests tell.

    Args:
        path: The file; its last document may be cut: the run died.
        source: The name to quote.
        options: The zone of stamps.

    Returns:
        The same rows as `collectors.communication.nccl_tests` has: `TRANSFERS`, `PLACEMENTS`, and
        `EVENTS` of kinds `data_corruption`, `data_check`, `benchmark_end`, `benchmark_failure` and
        `benchmark_cut`.

    Raises:
        OSError: The file cannot be read.
    """
    rows: dict[str, list[dict[str, Any]]] = {"transfers": [], "events": [], "placements": []}
    used, lost = 0, list[tuple[Document, str]]()
    for document in read_cut_documents(path.read_bytes()):
        value = mapping_of(document.value)
        if not {"results", "args", "config"} & value.keys():
            lost.append((replace(document, text=_redacted(document.text)), "no nccl-tests run"))
            continue
        used += document.lines
        for name, found in _run_rows(value, document.line).items():
            rows[name] += found
    return count_lines(_framed(rows, source, options, rejects_of(lost, source)), used)


def _redacted(text: str) -> str:
    """Return a line without what follows the environment's key."""
    return re.split(r'"env"', text, maxsplit=1)[0]


def _framed(
    rows: dict[str, list[dict[str, Any]]], source: str, options: ReadOptions, rejects: pl.DataFrame
) -> Reading:
    schemas = {"transfers": TRANSFERS, "events": EVENTS, "placements": PLACEMENTS}
    frames = dict[str, pl.DataFrame]()
    for name, schema in schemas.items():
        texts = {**schema, **({"time": pl.String()} if "time" in schema else {})}
        frame = pl.DataFrame(rows[name], schema=texts, strict=False)
        times = {"time": iso_time(pl.col("time"), options.time_zone)} if "time" in schema else {}
        frames[name] = frame.with_columns(
            canonical_host(pl.col("host")), source=pl.lit(source), **times
        )
    places = frames["placements"].with_columns(gpu=pci_address(pl.col("gpu")))
    return reading_of(**frames | {"placements": places}, rejects=rejects)


def _run_rows(run: dict[str, Any], line: int) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of one run, by frame."""
    devices = [mapping_of(one) for one in items_of(run.get("devices"))]
    devices += [mapping_of(one) for one in items_of(mapping_of(run.get("config")).get("devices"))]
    shape = _shape(run, devices) | {"position": line}
    results = [mapping_of(one) for one in items_of(run.get("results"))]
    timed = [row for one in results for half in _HALVES for row in _transfer(one, half, shape)]
    placements = [
        {
            "rank": _count(one, "rank"),
            "host": text_of(one.get("hostname")),
            "gpu": text_of(one.get("device_hex")),
            "index": _count(one, "device"),
        }
        for one in devices
    ]
    return {"transfers": timed, "events": _events(run, timed, shape), "placements": placements}


def _count(device: dict[str, Any], key: str) -> int | None:
    return count_of(text_of(device.get(key)))


def _shape(run: dict[str, Any], devices: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what all rows of a run share."""
    program = _PROGRAM.search(text_of(next(iter(items_of(run.get("args"))), None)) or "")
    first = min((_count(one, "group") or 0 for one in devices), default=0)
    mine = [one for one in devices if (_count(one, "group") or 0) == first]
    hosts = sorted({host.lower() for one in mine if (host := text_of(one.get("hostname")))})
    ranks = {_count(one, "rank") for one in mine}
    is_known = bool(hosts) and 0 in ranks
    return {
        "time": text_of(run.get("start_time")),
        "operation": program[1] if program else None,
        "world": len(ranks) if is_known else None,
        "nodes": len(hosts) if is_known else None,
        "group": HOSTS_BETWEEN.join(hosts) if is_known else None,
        "host": hosts[0] if is_known and len(hosts) == 1 else None,
    }


def _transfer(result: dict[str, Any], half: str, shape: dict[str, Any]) -> list[dict[str, Any]]:
    timed = mapping_of(result.get(half))
    if not timed:
        return []
    name = "cpu_time" if "cpu_time" in timed else "time"
    wrong = _scaled(timed.get("nwrong"), 1.0)
    return [
        {
            **shape,
            "bytes": whole_of(result.get("size")),
            "seconds": _scaled(timed.get(name), 1e-6),
            "algorithm_bytes_per_second": _scaled(timed.get("alg_bw"), 1e9),
            "bus_bytes_per_second": _scaled(timed.get("bus_bw"), 1e9),
            "wrong_count": None if wrong is None else whole_of(int(wrong)),
            "timing": "cpu_time" if name == "cpu_time" else "wall",
            "variant": half,
        }
    ]


def _scaled(value: object, unit: float) -> float | None:
    """Return a number in our unit; null for null, `nan` and what is no number."""
    try:
        number = float(value) if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        return None
    return number * unit if math.isfinite(number) else None


def _events(
    run: dict[str, Any], timed: list[dict[str, Any]], shape: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the rows of how a run ended."""
    base = {"time": shape["time"], "host": shape["host"], "position": shape["position"], "count": 1}
    found = [
        base | _check(mapping_of(run[key]), what, shape)
        for key, what in _CHECKS.items()
        if key in run
    ]
    if "average_bus_bandwidth" in run:
        found.append(base | _end(mapping_of(run["average_bus_bandwidth"]), shape))
    found += [
        base | {"kind": "benchmark_failure", "severity": "error", "message": text}
        for one in items_of(run.get("errors"))
        if (text := text_of(one))
    ]
    if not {"average_bus_bandwidth", "end_time"} & run.keys():
        size = text_of(timed[-1]["bytes"]) if timed else None
        words = f"the document ends after {size} bytes" if size else "the document ends at once"
        cut = {"kind": "benchmark_cut", "severity": "warning", "code": size, "message": words}
        found.append(base | cut | {"attributes": _labels({"bytes": size}, shape)})
    return found


def _check(check: dict[str, Any], what: str, shape: dict[str, Any]) -> dict[str, Any]:
    wrong = text_of(check.get("count"))
    is_wrong = check.get("okay") in _NOT_OKAY or wrong not in {None, "0"}
    return {
        "kind": "data_corruption" if is_wrong else "data_check",
        "code": what,
        "severity": "critical" if is_wrong else "info",
        "message": f"{what}: {wrong}",
        "attributes": _labels({"wrong": wrong}, shape),
    }


def _end(average: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
    rate = _scaled(average.get("bandwidth"), 1e9)
    is_low = average.get("okay") in _NOT_OKAY
    return {
        "kind": "benchmark_end",
        "code": "below_threshold" if is_low else None,
        "severity": "warning" if is_low else "info",
        "message": f"average bus bandwidth {average.get('bandwidth')} GB/s",
        "attributes": _labels({"average_bus_bytes_per_second": text_of(rate)}, shape),
    }


def _labels(told: dict[str, str | None], shape: dict[str, Any]) -> list[dict[str, str]]:
    return label_rows({**told, "operation": shape["operation"], "group": shape["group"]})
