"""Read what a host's kernel says of the host itself: memory, CPUs, storage, tasks.

Source: Linux `mm/oom_kill.c`, `kernel/hung_task.c`, `kernel/watchdog.c`, `drivers/edac`,
`net/sunrpc` and `arch/x86/kernel/cpu/mce`, and Lustre's `ptlrpc/client.c`, for the printed forms;
formats of GPU and host streams, section 5.4.
"""

from typing import Final

import polars as pl

from collectors.hosts.kernel_records import labels, matched, plain_digits, records
from collectors.texts.templates import filled

_KILLED: Final = (
    r"(?:^|[Oo]ut of memory: |: )Kill(?:ed)? process (?P<pid>\d+),? \((?P<process>[^)]*)\)"
)

_OOM_MORE: Final = (
    r"(?P<invoker>\S+) invoked oom-killer: |^oom-kill:|^oom_reaper: reaped process|"
    r"^Memory cgroup out of memory: Kill process"
)

_BLOCKED: Final = (
    r"task (?P<process>.{1,64}?):(?P<pid>\d+) (?:\S+ )*?blocked .*?"
    r"for more than (?P<seconds>\d+) seconds"
)

_STUCK: Final = (
    r"soft lockup - CPU#(?P<cpu>\d+) stuck for (?P<seconds>\d+)s!"
    r"(?: \[(?P<process>.+):(?P<pid>\d+)\])?"
)

_NFS: Final = (
    r"(?:^|\W)nfs: server (?P<server>\S+) (?P<text>not responding, (?:still trying|timed out)|OK)"
)

_LUSTRE: Final = (
    r"Lustre(?:Error)?: .*?(?:(?P<text>Request sent has (?:timed out|failed)|was lost; in progress|"
    r"operation \w+ .*?failed)|(?P<back>Connection restored))"
)

_LUSTRE_TARGET: Final = r"([\w-]+-(?:OST|MDT)[0-9a-fA-F]{4})"

_MEMORY: Final = (
    r"EDAC (?:[\w-]+ )?(?P<controller>MC\d+): (?P<errors>\d+) (?P<type>CE|UE) (?P<text>.*)$"
)

_CHECKED: Final = r"mce: (?:\[Hardware Error\]: )(?P<text>.*)$"

_BANK: Final = r"CPU (\d+): Machine Check(?: Exception)?: \S+ Bank (\d+): ([0-9a-fA-F]{16})"

_UNCORRECTED: Final = r"^[2367abefABEF]"
"""First digit of a status with bit 61 (UC) set. Source: Intel SDM, volume 3B, IA32_MCi_STATUS."""

_THROTTLED: Final = (
    r"CPU(?P<cpu>\d+): (?P<what>Core|Package) temperature(?:/speed)? above threshold.*?throttled"
)

HOST_HINTS: Final = [
    "oom-kill",
    "oom_reaper",
    "ut of memory",
    "Killed process",
    "blocked for more",
    "blocked on",
    "blocked in",
    "soft lockup",
    "nfs: server",
    "Lustre",
    "EDAC",
    "mce: [Hardware",
    "above threshold",
]
"""Words one of which each line of interest here holds."""


def find_host_faults(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the records of a host's own faults.

    Args:
        lines: `KERNEL_LINES`.

    Returns:
        `RECORDS` of kind oom_kill, task_blocked, cpu_stuck, storage_stall, storage_recovered,
        memory_error, machine_check and cpu_throttled.
    """
    ours = lines.filter(pl.col("message").str.contains_any(HOST_HINTS))
    readers = (_kills, _blocked, _stuck, _storage, _lustre, _memory, _checks, _throttled)
    return pl.concat(reader(ours) for reader in readers)


def _kills(lines: pl.DataFrame) -> pl.DataFrame:
    killed = matched(lines, _KILLED)
    more = matched(lines, _OOM_MORE).join(killed, on="line", how="anti")
    cgroup = pl.col("message").str.contains(r"(?i)memory cgroup|CONSTRAINT_MEMCG")
    usual = {
        "kind": pl.lit("oom_kill"),
        "severity": pl.lit("critical"),
        "device_kind": pl.lit("node"),
        "thread": pl.lit("oom"),
    }
    kilobytes = pl.col("message").str.extract(r"anon-rss:(\d+)kB").cast(pl.Int64, strict=False)
    said = {
        "pid": pl.col("pid"),
        "process": pl.col("process"),
        "anonymous_bytes": kilobytes * 1024,
        "scope": pl.when(cgroup).then(pl.lit("cgroup")),
    }
    by = {"invoked_by": pl.col("invoker"), "scope": said["scope"]}
    heads = {
        "attributes": labels(said),
        "is_part": pl.lit(value=True),
        "fold": pl.format("killed {}", "process"),
    }
    is_part = pl.col("invoker").is_null()
    rest = {"attributes": labels(by), "is_part": is_part, "grade": pl.lit(1), "count": pl.lit(0)}
    return pl.concat([records(killed, usual | heads), records(more, usual | rest)])


def _blocked(lines: pl.DataFrame) -> pl.DataFrame:
    names = ("process", "pid", "seconds")
    return records(
        matched(lines, _BLOCKED),
        {
            "kind": pl.lit("task_blocked"),
            "severity": pl.lit("error"),
            "device_kind": pl.lit("node"),
            "attributes": labels({name: pl.col(name) for name in names}),
            "fold": filled("blocked {} {}", "process", "pid"),
        },
    )


def _stuck(lines: pl.DataFrame) -> pl.DataFrame:
    names = ("process", "pid", "seconds")
    return records(
        matched(lines, _STUCK),
        {
            "kind": pl.lit("cpu_stuck"),
            "severity": pl.lit("error"),
            "device_kind": pl.lit("cpu"),
            "device": pl.format("cpu{}", "cpu"),
            "attributes": labels({name: pl.col(name) for name in names}),
            "fold": pl.lit("soft lockup"),
        },
    )


def _storage(lines: pl.DataFrame) -> pl.DataFrame:
    is_back = pl.col("text") == "OK"
    kinds = (pl.lit("storage_recovered"), pl.lit("storage_stall"))
    return records(
        matched(lines, _NFS),
        {
            "kind": pl.when(is_back).then(kinds[0]).otherwise(kinds[1]),
            "severity": pl.when(is_back).then(pl.lit("info")).otherwise(pl.lit("error")),
            "device_kind": pl.lit("storage"),
            "code": pl.when(~is_back).then(pl.col("text").str.extract(r"(still trying|timed out)")),
            "peer": pl.col("server"),
        },
    )


def _lustre(lines: pl.DataFrame) -> pl.DataFrame:
    is_back = pl.col("back").is_not_null()
    kinds = (pl.lit("storage_recovered"), pl.lit("storage_stall"))
    target = pl.col("message").str.extract(_LUSTRE_TARGET)
    return records(
        matched(lines, _LUSTRE),
        {
            "kind": pl.when(is_back).then(kinds[0]).otherwise(kinds[1]),
            "severity": pl.when(is_back).then(pl.lit("info")).otherwise(pl.lit("error")),
            "device_kind": pl.lit("storage"),
            "code": pl.when(~is_back).then(pl.lit("lustre")),
            "peer": target,
            "fold": filled("lustre {} {}", pl.col("text").fill_null(""), target.fill_null("")),
        },
    )


def _memory(lines: pl.DataFrame) -> pl.DataFrame:
    corrected = pl.col("type") == "CE"
    return records(
        matched(lines, _MEMORY),
        {
            "kind": pl.lit("memory_error"),
            "code": pl.when(corrected).then(pl.lit("corrected")).otherwise(pl.lit("uncorrected")),
            "severity": pl.when(corrected).then(pl.lit("warning")).otherwise(pl.lit("critical")),
            "device_kind": pl.lit("memory"),
            "device": pl.col("controller").str.to_lowercase(),
            "attributes": labels(
                {
                    "errors": pl.col("errors"),
                    "module": pl.col("text").str.extract(r"\bon (\S+)"),
                    "page": pl.col("text").str.extract(r"\bpage:(0x[0-9a-fA-F]+)"),
                }
            ),
            "fold": plain_digits(pl.col("text").str.replace(r"\(.*$", "").str.strip_chars_end()),
        },
    )


def _checks(lines: pl.DataFrame) -> pl.DataFrame:
    hits = matched(lines, _CHECKED)
    cpu, bank, status = (pl.col("text").str.extract(_BANK, group) for group in (1, 2, 3))
    is_bad = status.str.contains(_UNCORRECTED).fill_null(value=False)
    is_bank = bank.is_not_null()
    return records(
        hits,
        {
            "kind": pl.lit("machine_check"),
            "code": pl.when(is_bad).then(pl.lit("uncorrected")).otherwise(pl.lit("corrected")),
            "severity": pl.when(is_bad).then(pl.lit("critical")).otherwise(pl.lit("warning")),
            "device_kind": pl.lit("cpu"),
            "device": pl.format("cpu{}", cpu),
            "attributes": labels({"bank": bank, "status": status}),
            "thread": pl.lit("mce"),
            "is_part": pl.lit(value=True),
            "reach": pl.lit(1_000_000),
            "grade": pl.when(is_bank).then(0).otherwise(1),
            "count": pl.when(is_bank).then(1).otherwise(0),
            "fold": pl.format("bank {}", bank.fill_null("-")),
        },
    )


def _throttled(lines: pl.DataFrame) -> pl.DataFrame:
    return records(
        matched(lines, _THROTTLED),
        {
            "kind": pl.lit("cpu_throttled"),
            "code": pl.lit("thermal"),
            "severity": pl.lit("warning"),
            "device_kind": pl.lit("cpu"),
            "device": pl.format("cpu{}", "cpu"),
            "fold": pl.col("what"),
        },
    )
