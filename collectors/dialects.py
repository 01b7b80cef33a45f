"""Every file format that Paceline reads: adding one is one line here."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from collectors.communication.flight_recorder import read_flight_recorder, wants_flight_recorder
from collectors.communication.inspector import (
    read_inspector,
    stream_inspector,
    wants_inspector,
)
from collectors.communication.nccl_test_documents import (
    read_nccl_test_documents,
    wants_nccl_test_documents,
)
from collectors.communication.profiler_traces import read_profiler_traces, wants_profiler_traces
from collectors.communication.ras_documents import read_ras_documents, wants_ras_documents
from collectors.ethernet.arista_captures import read_arista_captures, wants_arista_captures
from collectors.ethernet.gnmi_documents import read_gnmi, wants_gnmi
from collectors.ethernet.gnmi_lines import read_gnmi_lines, wants_gnmi_lines
from collectors.ethernet.network_documents import read_network_documents, wants_network_documents
from collectors.ethernet.port_captures import read_port_captures, wants_port_captures
from collectors.ethernet.port_documents import read_port_documents, wants_port_documents
from collectors.ethernet.topology_captures import read_topology, wants_topology
from collectors.gpus.dcgmi_dmon import read_dcgmi_dmon, wants_dcgmi_dmon
from collectors.gpus.nvidia_smi import read_nvidia_smi, wants_nvidia_smi
from collectors.hosts.device_tables import read_device_tables, wants_device_tables
from collectors.hosts.fabric_manager import read_fabric_manager, wants_fabric_manager
from collectors.hosts.kernel_logs import read_kernel_log, stream_kernel_log, wants_kernel_log
from collectors.infiniband.diagnostic_tables import read_diagnostic_tables, wants_diagnostic_tables
from collectors.infiniband.discovery import read_discovery, wants_discovery
from collectors.infiniband.fabric_telemetry import read_fabric_telemetry, wants_fabric_telemetry
from collectors.infiniband.influx_lines import read_influx_lines, wants_influx_lines
from collectors.infiniband.link_listing import read_link_listing, wants_link_listing
from collectors.infiniband.net_dump import read_net_dump, wants_net_dump
from collectors.infiniband.perfquery import read_perfquery, wants_perfquery
from collectors.infiniband.query_errors import read_query_errors, wants_query_errors
from collectors.infiniband.sysfs_dumps import read_sysfs_dump, wants_sysfs_dump
from collectors.infiniband.telemetry_stream import read_telemetry_stream, wants_telemetry_stream
from collectors.kubernetes.descriptions import read_pod_descriptions, wants_pod_descriptions
from collectors.kubernetes.documents import read_kubernetes_documents, wants_kubernetes_documents
from collectors.kubernetes.tables import read_kubernetes_tables, wants_kubernetes_tables
from collectors.logs import read_logs, resume_logs, stream_logs, wants_logs
from collectors.metrics.metric_files import (
    read_exposition,
    read_prometheus_answer,
    wants_exposition,
    wants_prometheus_answer,
)
from collectors.metrics.scrape_archives import stream_exposition
from collectors.port_logs.link_monitor import wants_link_monitor
from collectors.readings import (
    EMPTY_FILE,
    Reading,
    reject_file,
)
from collectors.slurm.sacct import read_sacct, wants_sacct
from collectors.slurm.scontrol import read_scontrol, wants_scontrol
from collectors.slurm.slurm_documents import read_slurm_documents, wants_slurm_documents
from collectors.slurm.slurm_listings import read_slurm_listings, wants_slurm_listings
from collectors.sniffing import Dialect, ReadOptions, choose, read_head
from collectors.texts.packed_files import (
    UnpackedSizeError,
    is_packed,
    is_torn_at_start,
    unpacked_copy,
)
from collectors.training.deepspeed_monitors import (
    read_deepspeed_monitor,
    wants_deepspeed_monitor,
)
from collectors.training.dlrover_events import read_dlrover_events, wants_dlrover_events
from collectors.training.goodput_records import read_goodput_records, wants_goodput_records
from collectors.training.kineto_traces import read_kineto_traces, wants_kineto_traces
from collectors.training.loss_tables import read_loss_tables, wants_loss_tables
from collectors.training.megatron_progress import read_megatron_progress, wants_megatron_progress
from collectors.training.megatron_series import read_megatron_series, wants_megatron_series
from collectors.training.minibatch_tables import read_minibatch_tables, wants_minibatch_tables
from collectors.training.mlflow_metrics import read_mlflow_metrics, wants_mlflow_metrics
from collectors.training.parquet_tables import read_parquet_tables, wants_parquet_tables
from collectors.training.resiliency_documents import (
    read_resiliency_documents,
    wants_resiliency_documents,
)
from collectors.training.step_records import read_step_records, wants_step_records
from collectors.training.tensorboard_events import (
    read_tensorboard_events,
    wants_tensorboard_events,
)
from collectors.training.titan_spans import read_titan_spans, wants_titan_spans
from collectors.training.trainer_states import read_trainer_states, wants_trainer_states
from collectors.training.wandb_exports import read_wandb_exports, wants_wandb_exports
from collectors.training.wandb_history import read_wandb_history, wants_wandb_history

DIALECTS: Final[tuple[Dialect, ...]] = (
    Dialect(name="flight recorder", wants=wants_flight_recorder, read=read_flight_recorder),
    Dialect(name="tensorboard", wants=wants_tensorboard_events, read=read_tensorboard_events),
    Dialect(name="parquet table", wants=wants_parquet_tables, read=read_parquet_tables),
    Dialect(
        name="resiliency document",
        wants=wants_resiliency_documents,
        read=read_resiliency_documents,
    ),
    Dialect(
        name="nccl inspector",
        wants=wants_inspector,
        read=read_inspector,
        stream=stream_inspector,
        unpacks=True,
    ),
    Dialect(name="ras document", wants=wants_ras_documents, read=read_ras_documents),
    Dialect(
        name="nccl-tests document",
        wants=wants_nccl_test_documents,
        read=read_nccl_test_documents,
    ),
    Dialect(name="profiler trace", wants=wants_profiler_traces, read=read_profiler_traces),
    Dialect(name="megatron progress", wants=wants_megatron_progress, read=read_megatron_progress),
    Dialect(name="megatron series", wants=wants_megatron_series, read=read_megatron_series),
    Dialect(name="deepspeed monitor", wants=wants_deepspeed_monitor, read=read_deepspeed_monitor),
    Dialect(name="kineto trace", wants=wants_kineto_traces, read=read_kineto_traces),
    Dialect(name="wandb history", wants=wants_wandb_history, read=read_wandb_history),
    Dialect(name="wandb export", wants=wants_wandb_exports, read=read_wandb_exports),
    Dialect(name="mlflow metric", wants=wants_mlflow_metrics, read=read_mlflow_metrics),
    Dialect(name="device table", wants=wants_device_tables, read=read_device_tables),
    Dialect(name="mini-batch table", wants=wants_minibatch_tables, read=read_minibatch_tables),
    Dialect(
        name="exposition page",
        wants=wants_exposition,
        read=read_exposition,
        stream=stream_exposition,
        unpacks=True,
    ),
    Dialect(name="prometheus answer", wants=wants_prometheus_answer, read=read_prometheus_answer),
    Dialect(name="torchtitan spans", wants=wants_titan_spans, read=read_titan_spans),
    Dialect(name="dlrover events", wants=wants_dlrover_events, read=read_dlrover_events),
    Dialect(name="goodput records", wants=wants_goodput_records, read=read_goodput_records),
    Dialect(name="trainer state", wants=wants_trainer_states, read=read_trainer_states),
    Dialect(name="loss table", wants=wants_loss_tables, read=read_loss_tables),
    Dialect(name="step records", wants=wants_step_records, read=read_step_records),
    Dialect(name="network document", wants=wants_network_documents, read=read_network_documents),
    Dialect(name="arista capture", wants=wants_arista_captures, read=read_arista_captures),
    Dialect(name="topology capture", wants=wants_topology, read=read_topology),
    Dialect(name="port capture", wants=wants_port_captures, read=read_port_captures),
    Dialect(name="port document", wants=wants_port_documents, read=read_port_documents),
    Dialect(name="gnmic document", wants=wants_gnmi, read=read_gnmi),
    Dialect(name="telegraf gnmi", wants=wants_gnmi_lines, read=read_gnmi_lines),
    Dialect(name="nvidia-smi", wants=wants_nvidia_smi, read=read_nvidia_smi),
    Dialect(name="dcgmi dmon", wants=wants_dcgmi_dmon, read=read_dcgmi_dmon),
    Dialect(name="fabric manager log", wants=wants_fabric_manager, read=read_fabric_manager),
    Dialect(
        name="kernel log",
        wants=wants_kernel_log,
        read=read_kernel_log,
        stream=stream_kernel_log,
        unpacks=True,
    ),
    Dialect(name="perfquery", wants=wants_perfquery, read=read_perfquery),
    Dialect(name="ibqueryerrors", wants=wants_query_errors, read=read_query_errors),
    Dialect(name="iblinkinfo", wants=wants_link_listing, read=read_link_listing),
    Dialect(name="ibnetdiscover", wants=wants_discovery, read=read_discovery),
    Dialect(name="ibdiagnet", wants=wants_diagnostic_tables, read=read_diagnostic_tables),
    Dialect(name="net dump", wants=wants_net_dump, read=read_net_dump),
    Dialect(name="ufm telemetry", wants=wants_fabric_telemetry, read=read_fabric_telemetry),
    Dialect(name="ufm stream", wants=wants_telemetry_stream, read=read_telemetry_stream),
    Dialect(name="infiniband files", wants=wants_sysfs_dump, read=read_sysfs_dump),
    Dialect(name="influx lines", wants=wants_influx_lines, read=read_influx_lines),
    Dialect(
        name="link monitor",
        wants=wants_link_monitor,
        read=read_logs,
        stream=stream_logs,
        resume=resume_logs,
        unpacks=True,
    ),
    Dialect(name="slurm document", wants=wants_slurm_documents, read=read_slurm_documents),
    Dialect(name="scontrol", wants=wants_scontrol, read=read_scontrol),
    Dialect(name="slurm list", wants=wants_slurm_listings, read=read_slurm_listings),
    Dialect(name="slurm accounts", wants=wants_sacct, read=read_sacct),
    Dialect(
        name="kubernetes document",
        wants=wants_kubernetes_documents,
        read=read_kubernetes_documents,
    ),
    Dialect(name="kubernetes table", wants=wants_kubernetes_tables, read=read_kubernetes_tables),
    Dialect(name="pod description", wants=wants_pod_descriptions, read=read_pod_descriptions),
    Dialect(
        name="log",
        wants=wants_logs,
        read=read_logs,
        stream=stream_logs,
        resume=resume_logs,
        unpacks=True,
    ),
)
"""In order of specificity: among equally sure dialects the earlier one reads."""


TORN_START: Final = "packed file that is torn before anything can be unpacked"


def read_file(
    path: Path, source: str, options: ReadOptions, dialects: tuple[Dialect, ...] = DIALECTS
) -> Reading:
    """Return what the file at `path` holds, read by the dialect that wants it.

    Args:
        path: An existing file.
        source: The name to quote in evidence and rejects.
        options: What the file cannot say of itself.
        dialects: Who may read it.

    Returns:
        The reading; a file that is empty, binary or in no known format, or that may not be
        opened, is one reject with that reason.
    """
    dialect = _dialect_of(path, source, dialects)
    if isinstance(dialect, Reading):
        return dialect
    try:
        with _readable(path, dialect) as file:
            return dialect.read(file, source, options)
    except UnpackedSizeError as error:
        return reject_file(source, str(error))


def stream_file(path: Path, source: str, options: ReadOptions) -> Iterator[Reading]:
    """Yield what the file at `path` holds, a part at a time; see `read_file`.

    Files of a dialect that does not stream come as one part.
    """
    dialect = _dialect_of(path, source, DIALECTS)
    if isinstance(dialect, Reading):
        yield dialect
        return
    try:
        with _readable(path, dialect) as file:
            yield from read_parts(dialect, file, source, options)
    except UnpackedSizeError as error:
        yield reject_file(source, str(error))


def read_parts(
    dialect: Dialect, path: Path, source: str, options: ReadOptions
) -> Iterator[Reading]:
    """Yield what a dialect reads in a file, a part at a time if it can."""
    if dialect.stream is None:
        yield dialect.read(path, source, options)
    else:
        yield from dialect.stream(path, source, options)


@contextmanager
def _readable(path: Path, dialect: Dialect) -> Generator[Path, None, None]:
    """Give a file that the dialect can read: itself, or an unpacked copy."""
    if dialect.unpacks or not is_packed(path):
        yield path
        return
    with unpacked_copy(path) as copy:
        yield copy


def _dialect_of(path: Path, source: str, dialects: tuple[Dialect, ...]) -> Dialect | Reading:
    """Return who reads a file, or the reading that says why nobody does."""
    try:
        head = read_head(path)
    except OSError as error:
        return reject_file(source, f"cannot be opened: {error.strerror}")
    if not head.data:
        return reject_file(source, TORN_START if is_torn_at_start(path) else EMPTY_FILE)
    dialect = choose(head, dialects)
    if dialect is not None:
        return dialect
    kind = "binary file in no known format" if head.is_binary else "no known format"
    return reject_file(source, kind, "" if head.is_binary else head.text.split("\n")[0])
