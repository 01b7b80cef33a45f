"""Whose series is it: the host and the workload that the labels of a scrape speak of.

Source: Prometheus scrape configuration (`honor_labels`: a clashing label of the target becomes
`exported_<label>`); dcgm-exporter renderer and its version history (`Hostname` to `hostname`, a
pod's name in it until 2.2, `hpc_job`).
"""

import re
from pathlib import PurePath
from typing import Final

import polars as pl

from collectors.identity import canonical_host
from collectors.metrics.series import has_label, label_of
from collectors.sniffing import ReadOptions
from collectors.taken import taken_on

_HOST_KEYS: Final = (
    "hostname",
    "exported_hostname",
    "exported_node",
    "kubernetes_node",
    "node",
    "nodename",
    "exported_instance",
    "instance",
)
"""Labels that name a host, best first; `instance` is the scrape's address."""

_NOT_A_HOST: Final = r"^localhost(?:\.|$)|dcgm-exporter|^127\.|^[0-9a-f]{12}$"
ADDRESS_PATTERN: Final = r"^(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]*:[0-9a-f:.]*)$"
_HOST_FILE: Final = r"[a-z][a-z0-9-]*\d(?:[a-z0-9.-]*[a-z0-9])?$"
_NO_HOST_FILE: Final = r"metric|scrape|exporter|dump|page|prom|dcgm|snapshot|case|\d{4}-?\d\d"
EXPORTER_PATTERN: Final = r"dcgm-exporter|node-exporter|infiniband-exporter"


def host_label() -> pl.Expr:
    """Return the host of a label set, canonical; null if only an address is known.

    A host name in the labels wins over the scrape address `instance`, which in Kubernetes is the
    exporter pod's. The exporter's own name, `localhost` and bare addresses are no host.
    """
    candidates = pl.concat_list([label_of(key) for key in _HOST_KEYS])
    host = canonical_host(pl.element())
    unusable = host.str.contains(_NOT_A_HOST) | host.str.contains(ADDRESS_PATTERN)
    return candidates.list.eval(host.filter(~unusable)).list.first()


def workload_label() -> pl.Expr:
    """Return the job or pod that a label set was busy with; null if there was none.

    A scheduler's job number is best. `exported_pod` wins where it exists, even empty; `pod` alone
    is the workload unless it is the exporter itself.
    """
    exported = _pod(label_of("exported_namespace"), label_of("exported_pod"))
    pod, container = label_of("pod", "pod_name"), label_of("container", "container_name")
    own = pod.str.contains(EXPORTER_PATTERN) | container.str.contains(
        r"(?:^|-)exporter$"
    ).fill_null(value=False)
    plain = pl.when(~own).then(_pod(label_of("namespace", "pod_namespace"), pod))
    return pl.coalesce(
        label_of("hpc_job"), pl.when(has_label("exported_pod")).then(exported).otherwise(plain)
    )


def _pod(namespace: pl.Expr, pod: pl.Expr) -> pl.Expr:
    """Return `namespace/pod`, or the pod alone."""
    return pl.coalesce(pl.concat_str(namespace, pl.lit("/"), pod), pod)


def fill_hosts(labelled: pl.DataFrame, identities: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return `labelled` with the hosts that only other parts of the page tell.

    Args:
        labelled: Has `host`, null where the labels name none, and `target`, the scrape's address.
        identities: `IDENTITIES` of the whole source; `node_uname_info` names the node.
        source: The source's name. A page that is saved for each host is often named after it, or
            lies in a folder of its name: that is the last resort, and only for a name that looks
            like a host's; the folder's only where no address is known either.
    """
    names = identities.filter(pl.col("name") == "node_uname_info").select(
        target=label_of("instance"), nodename=canonical_host(label_of("nodename"))
    )
    by_target = names.drop_nulls().unique("target", keep="last", maintain_order=True)
    known = names["nodename"].drop_nulls().unique()
    stem = PurePath(source).stem.lower()
    named = re.match(_HOST_FILE, stem) and not re.search(_NO_HOST_FILE, stem)
    last = known.item() if len(known) == 1 else stem if named and not len(known) else None
    kept = taken_on(source, ReadOptions()) if known.is_empty() else None
    return labelled.join(by_target, on="target", how="left", maintain_order="left").with_columns(
        host=pl.coalesce(
            "host",
            "nodename",
            pl.lit(last, pl.String),
            pl.when(pl.col("target").is_null()).then(pl.lit(kept, pl.String)),
        )
    )
