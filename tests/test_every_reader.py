"""Every reader, whatever happened to its input: it never raises and accounts for each line."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.dialects import DIALECTS, read_file
from collectors.readings import Reading
from collectors.sniffing import Dialect, ReadOptions

SAMPLES = Path(__file__).parent / "data" / "infiniband"
OPTIONS = ReadOptions(year=2026)

GPU = "GPU-5f1c2a90-7b3e-4d18-9c60-a1b2c3d4e5f6"

SEEDS: dict[str, str] = {
    "exposition page": (
        "# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature (in C).\n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="3",UUID="{GPU}",Hostname="hx8-017"}} 61 1767585600000\n'
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="3",UUID="{GPU}",Hostname="hx8-017"}} 62 1767585615000\n'
        'node_infiniband_symbol_error_total{device="mlx5_4",port="1",instance="n7:9100"} 41\n'
    ),
    "prometheus answer": (
        '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":'
        '"DCGM_FI_DEV_GPU_TEMP","gpu":"3","Hostname":"hx8-017"},"values":[[1767585600,"61"],'
        '[1767585630.5,"NaN"]]}]}}\n'
    ),
    "nvidia-smi": (
        "timestamp, index, uuid, pci.bus_id, power.draw [W]\n"
        f"2026/01/05 04:03:02.118, 3, {GPU}, 00000000:9B:00.0, 640.11 W\n"
        "2026/01/05 04:03:02.121, 4, GPU-0c77b1de, 00000000:BB:00.0, [Unknown Error]\n"
    ),
    "dcgmi dmon": (
        "#Entity         TMPTR        XIDER        TENSO        \n"
        "ID              C                                      \n"
        "GPU 0           55           N/A          0.401        \n"
        "GPU-I 2                                   0.377        \n"
    ),
    "kernel log": (
        "[ 2071.664210] NVRM: Xid (PCI:0000:9b:00): 79, pid=2290, name=python, GPU has fallen\n"
        "[ 2071.700000] NVRM: GPU 0000:9b:00.0: GPU has fallen off the bus.\n"
        "[ 2072.000001] usb 1-1: new high-speed USB device number 4 using xhci_hcd\n"
        "[ 2073.100000] nvidia-nvswitch2: SXid (PCI:0000:c6:00.0): 20034, Fatal, Link 11 LTSSM\n"
    ),
    "fabric manager log": (
        "[Jan 05 2026 04:03:02] [ERROR] [tid 2214] detected NVSwitch fatal error 20034 on fid 0 on "
        "NVSwitch pci bus id 00000000:C6:00.0 physical id 2 port 11\n"
        "[Jan 05 2026 04:03:03] [INFO] [tid 2214] multicast group\n  0 is released\n"
    ),
    "wandb history": (
        '{"_step":1,"_timestamp":1927857600.5,"_runtime":2.0,"train/loss":2.5}\n'
        '{"_step":2,"_timestamp":1927857602.5,"_runtime":4.0,"train/loss":NaN}\n'
    ),
    "wandb export": (
        '"Step","a - train/loss","a - train/loss__MIN","a - train/loss__MAX"\n'
        '"10","2.5","2.4","2.6"\n"20","2.25","",""\n'
    ),
    "device table": (
        "host,disk,time,throughput,latency\nh1,disk1,2031-02-03 04:05:06,NA,70.5\n"
        "h1,disk2,2031-02-03 04:05:06,2.5e7,\n"
    ),
    "resiliency document": (
        '{"job_id":"77","attempt_index":1,"cycle_number":3,"cycle_start_time":'
        '"2031-02-03T04:00:00Z",\n"active_nodes":"n[001-003]","active_ranks":24}\n'
        '{"gpu_relative_perf_scores":{"0":0.98,"1":NaN},"rank_to_node":{"0":"n001"}}\n'
    ),
    "kubernetes document": (
        '{"apiVersion":"v1","kind":"List","items":[{"kind":"Pod","metadata":{"name":"llm-worker-3",'
        '"labels":{"training.kubeflow.org/job-name":"llm"}},\n"spec":{"nodeName":"gpu-n2"},'
        '"status":{"phase":"Failed","containerStatuses":[{"name":"train","restartCount":1,'
        '"state":{"terminated":\n{"exitCode":137,"reason":"OOMKilled"}}}]}}]}\n'
    ),
    "kubernetes table": (
        "NAME           READY   STATUS      RESTARTS     AGE   IP         NODE\n"
        "llm-worker-3   0/1     OOMKilled   1 (5m ago)   2h    10.0.0.2   gpu-n2\n"
        "llm-worker-4   1/1     Running     0            2h    10.0.0.3   gpu-n3\n"
    ),
    "pod description": (
        "Name:         llm-worker-3\nNamespace:    ml\nPriority:     0\n"
        "Node:         gpu-n2/10.1.0.2\nStatus:       Failed\nContainers:\n  train:\n"
        "    State:          Terminated\n      Reason:       OOMKilled\n"
        "      Exit Code:    137\n"
    ),
    "port capture": (
        "$ ethtool -S eth4\nNIC statistics:\n     rx_prio3_pause: 21\n     rx_symbol_err_phy: 0\n"
        "link mlx5_4/1 rx_write_requests 812 out_of_sequence 3 np_cnp_sent 40\n"
    ),
    "port document": (
        '[{"ifname":"mlx5_4","port":1,"rx_write_requests":812,"out_of_sequence":3}]\n'
    ),
    "gnmic document": (
        '[{"name":"ifcnt","timestamp":1764100000123456789,"tags":{"interface_name":"Ethernet12/1",'
        '"source":"leaf-r3-02:6030"},"values":{"/interfaces/interface/state/counters/in-octets":'
        '"18446744070000000000"}}]\n'
    ),
    "telegraf gnmi": (
        "ifcnt,name=Ethernet12/1,source=leaf-r3-02 in_octets=91i,in_errors=0i 1764100000123456789\n"
    ),
    "arista capture": (
        "leaf-r3-02#show interfaces counters errors\n"
        "Port            FCS    Align   Symbol     Rx   Runts  Giants      Tx\n"
        "Et12/1            3        0        0      3       0       0       0\n"
    ),
    "topology capture": "mlx5_0 port 1 ==> eth4 (Up)\nmlx5_1 port 1 ==> eth5 (Down)\n",
    "network document": (
        '{"interfaceErrorCounters":{"Ethernet12/1":{"inErrors":3,"fcsErrors":3,"outErrors":0}}}\n'
    ),
    "megatron progress": (
        "2031-02-03 04:00:00\tJob ID: 71\t# GPUs: 256\tStarting job\n"
        "2031-02-03 05:10:00\tJob ID: 71\t# GPUs: 256\tSaved checkpoint\tIteration: 500\n"
    ),
    "megatron series": (
        '{"lm loss": {"start_step": 1, "end_step": 3, "step_interval": 1, "values": '
        '{"1": 10.5, "2": 10.25, "3": "nan"}}}\n'
    ),
    "slurm accounts": (
        "JobID|JobName|State|Elapsed|NodeList\n88213|llm|abl-3|FAILED|00:10:00|hx8-[001-002]\n"
        "88214|two\nlines|COMPLETED|01:00:00|hx8-003\n"
    ),
    "scontrol": (
        "NodeName=hx8-044 Arch=x86_64 CPULoad=N/A\n   Gres=gpu:h100:8(S:0-1) State=IDLE+DRAIN\n"
        "   Reason=xid 79 on gpu=6 host=bad [root@2026-01-05T04:05:00]\n"
    ),
    "slurm document": (
        '{"meta":{"slurm":{"version":{"major":"23","minor":"11"}}},"jobs":[{"job_id":88213,'
        '"name":"llm","state":{"current":["FAILED"]},"nodes":"hx8-001"}]}\n'
    ),
    "slurm list": (
        "NODELIST|STATE|REASON|TIMESTAMP\nhx8-001|idle|none|Unknown\n"
        "hx8-002|drained*|NHC: gpu xid 79|2026-01-05T04:03:02\n"
    ),
    "goodput records": (
        '{"job_name":"llm","job_start_time":1927857600.5}\n'
        '{"job_name":"llm","step_count":1,"step_start_time":1927857610.0}\n'
        '{"job_name":"llm","step_count":2,"step_start_time":1927857612.5}\n'
        '{"jsonPayload":{"job_name":"llm","job_end_time":1927857615.0}}\n'
    ),
    "torchtitan spans": (
        '{"global_rank":3,"host_name":"hx8-017","step":1,"time_us":1796007968250000,'
        '"log_type":"event","log_type_name":"forward_backward_start"}\n'
        '{"global_rank":3,"host_name":"hx8-017","step":1,"time_us":1796007972250000,'
        '"log_type":"event","log_type_name":"forward_backward_end","value":4000}\n'
        '{"global_rank":3,"host_name":"hx8-017","step":2,"time_us":1796007973250000,'
        '"log_type":"event","log_type_name":"forward_backward_start"}\n'
    ),
    "dlrover events": (
        '[2031-02-03T04:05:00.1] [77] [a1] [TRAINER] [#step] [BEGIN] {"global_step": 40}\n'
        "[2031-02-03T04:05:04.1] [77] [a1] [TRAINER] [#step] [END] {}\n"
        '[2031-02-03T04:05:05.1] [77] [a2] [TRAINER] [#step] [BEGIN] {"global_step": 41}\n'
    ),
    "trainer state": (
        '{"global_step": 20, "log_history": [\n  {"loss": 1.5, "step": 10},\n'
        '  {"eval_loss": 1.1, "step": 20}\n], "max_steps": 100}\n'
    ),
    "loss table": "epoch,step,train_loss,val_loss\n0,49,2.5,\n0,99,,2.1\n",
    "nccl inspector": (
        '{"header":{"id":"0xaa","rank":5,"n_ranks":32,"nnodes":4},"metadata":{"hostname":"hx8-017",'
        '"dump_timestamp_us":1767585782000000},"coll_perf":{"coll":"AllReduce","coll_sn":7,'
        '"coll_msg_size_bytes":1048576,"coll_exec_time_us":90,"coll_timing_source":"kernel_gpu"}}\n'
        '{"coll_perf":{"coll":"AllReduce","coll_sn":8,"coll_exec_time_us":91}}\n'
    ),
    "ras document": (
        '{"communicators_count":1,"communicators":[{"hash":"0xaa","size":2,"ranks":[{"rank":0,'
        '"host":"10.77.3.5","collective_counts":{"AllReduce":9}}],"missing_ranks":[]}]}\n'
    ),
    "nccl-tests document": (
        '{"args":["all_reduce_perf"],"env":["A=b"],"nccl_version":22809,"results":[{"size":8,'
        '"out_of_place":{"time":61.2,"bus_bw":29.98,"nwrong":0}}]}\n'
    ),
    "profiler trace": (
        '[\n{"name":"AllReduce","cat":"COLL","ph":"b","id":12,"pid":4412,"ts":101.5,'
        '"args":{"SeqNum":9,"CommHash":13927450921133400117,"Rank":3}},\n'
        '{"name":"AllReduce","cat":"COLL","ph":"e","id":12,"pid":4412,"ts":109.5},\n{}]\n'
    ),
    "link monitor": (
        "[2026-01-05T04:11:07.123456] 4: eth4: <BROADCAST,MULTICAST,UP> mtu 9000 state DOWN \n"
        "    link/ether b8:3f:d2:03:0a:00 brd ff:ff:ff:ff:ff:ff\n"
    ),
    "log": (
        "2031 Mar  9 04:11:07.048421 leaf-r3-02 NOTICE swss#orchagent: :- updatePortOperStatus: "
        "Port Ethernet12 oper state set from up to down\n"
        "Mar  9 04:11:09 leaf-r3-02 Ebra: %LINEPROTO-5-UPDOWN: Line protocol on Interface "
        "Ethernet12/1 (to gpu-r3-n07), changed state to up\n"
        "something else\n"
        "hx8-017:4412:4680 [3] NCCL INFO Channel 00/0 : 3[3] -> 11[3] [send] via NET/IB/3/GDRDMA\n"
        "hx8-017:4412:4680 [3] NCCL INFO comm 0x55 rank 3 nranks 16 cudaDev 3 busId 9b000 commId "
        "0x7e - Init START\n"
        "hx8-017:4412:4680 [3] NCCL INFO AllReduce: opCount 1f sendbuff 0x1 recvbuff 0x2 count 5 "
        "datatype 7 op 0 root 0 comm 0x55 [nranks=16] stream 0x3\n"
        "[2025-11-04 02:10:58] hx8-017:4412:4680 [3] net_ib.cc:1 NCCL WARN NET/IB: Got completion "
        "from peer 10.77.3.21<48122> with status=12 opcode=0 len=0 vendor err 129 (Send) hca m\n"
        "comm op: all_reduce | time (ms): 3.1 | msg size: 256.0 MB | algbw (Gbps): 692.80 | busbw "
        "(Gbps): 1212.4\n"
        "[rank3]:[E1104 02:11:07.418220913 ProcessGroupNCCL.cpp:632] [PG ID 0 PG GUID 0 Rank 3] "
        "\n\t - [3] Timeout at collective: ALLREDUCE, #311\n"
        "\t   - [0, 1, 2] joined but didn't finish collective #311 (count from 1)\n"
    ),
}

FILES = {
    "perfquery": "perfquery.txt",
    "ibqueryerrors": "ibqueryerrors.txt",
    "iblinkinfo": "iblinkinfo-lines.txt",
    "ibnetdiscover": "ibnetdiscover-ports.txt",
    "ibdiagnet": "ibdiagnet2.db_csv",
    "net dump": "ibdiagnet2.net_dump",
    "ufm telemetry": "telemetry.csv",
    "ufm stream": "telemetry.json",
    "infiniband files": "sysfs-paths.txt",
    "influx lines": "telegraf.influx",
}

IN_DOCUMENTS = {
    "prometheus answer",
    "trainer state",
    "port document",
    "gnmic document",
    "kubernetes document",
    "network document",
    "nccl inspector",
    "nccl-tests document",
    "ras document",
    "resiliency document",
    "slurm document",
    "ufm stream",
}
"""Dialects whose records are no lines: a document may be rejected whole, or in part."""

OF_OTHER_KINDS = {
    "deepspeed monitor",
    "flight recorder",
    "kineto trace",
    "mlflow metric",
    "parquet table",
    "tensorboard",
    "mini-batch table",
    "step records",
}
"""Dialects that have tests like these of their own, or none of whose input is text."""

BY_NAME = {dialect.name: dialect for dialect in DIALECTS}


def seed(name: str) -> bytes:
    """A small healthy input of a dialect."""
    if name in FILES:
        return (SAMPLES / FILES[name]).read_bytes()[:6000]
    return SEEDS[name].encode()


def lines_of(data: bytes) -> int:
    """How many lines are not empty."""
    text = data.decode("utf-8", errors="replace").removeprefix("\ufeff").replace("\0", "")
    return sum(1 for line in text.split("\n") if line.strip())


def accounted(reading: Reading) -> int:
    """How many lines a reading speaks for."""
    return reading.lines_used + int(reading.rejects["count"].fill_null(1).sum())


def torn(data: bytes, at: int) -> bytes:
    """The input without what stands before a place, or behind it."""
    place = at % (len(data) + 1)
    return data[:place] if at % 2 else data[place:]


def doubled(data: bytes, at: int) -> bytes:
    """The input with one line twice."""
    lines = data.split(b"\n")
    lines.insert(at % len(lines), lines[at % len(lines)])
    return b"\n".join(lines)


def coloured(data: bytes, at: int) -> bytes:
    """The input with one line in red, which is none if it is empty."""
    lines = data.rstrip(b"\n").split(b"\n")
    lines[at % len(lines)] = b"\x1b[31m" + lines[at % len(lines)] + b"\x1b[0m"
    return b"\n".join(lines)


def stained(data: bytes, at: int) -> bytes:
    """The input with bytes that are no UTF-8."""
    place = at % (len(data) + 1)
    return data[:place] + b"\xff\xfe\xc3" + data[place:]


def lengthened(data: bytes, at: int) -> bytes:
    """The input with a line of a megabyte."""
    lines = data.split(b"\n")
    lines.insert(at % len(lines), b"x" * 2**20)
    return b"\n".join(lines)


MANGLERS: list[Callable[[bytes, int], bytes]] = [
    torn,
    doubled,
    coloured,
    stained,
    lambda data, _: data.replace(b"\n", b"\r\n"),
]

EACH = pytest.mark.parametrize(
    "name", [pytest.param(name, id=name) for name in sorted({*SEEDS, *FILES})]
)


def read(dialect: Dialect, folder: Path, data: bytes) -> Reading:
    """What a dialect makes of some bytes, asked directly."""
    path = folder / "hx8-017.txt"
    path.write_bytes(data)
    return dialect.read(path, "drop/hx8-017.txt", OPTIONS)


def test_every_dialect_is_here() -> None:
    """A new dialect gets a seed, or says why not."""
    assert set(BY_NAME) - OF_OTHER_KINDS == {*SEEDS, *FILES}


@EACH
def test_seed(name: str, tmp_path: Path) -> None:
    """The seed is wanted by its dialect, read, and accounted for line by line."""
    path = tmp_path / "hx8-017.txt"
    path.write_bytes(seed(name))
    reading = read_file(path, "drop/hx8-017.txt", OPTIONS)
    names = ("samples", "steps", "transfers", "events", "links", "jobs")
    rows = sum(reading.frame(frame).height for frame in names)

    assert rows + reading.aliases.height > 0
    assert reading.lines_used > 0
    assert accounted(reading) >= lines_of(seed(name))


@EACH
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(range(len(MANGLERS))), st.integers(0, 10**6)), max_size=3
    )
)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_mangled(name: str, steps: list[tuple[int, int]], tmp_path: Path) -> None:
    """Torn, doubled, coloured, stained, with other line ends: no line is lost, nothing raises."""
    data = seed(name)
    for number, at in steps:
        data = MANGLERS[number](data, at)
    reading = read(BY_NAME[name], tmp_path, data)

    if name in IN_DOCUMENTS or b"\r" in data:
        assert accounted(reading) >= min(1, lines_of(data))
    else:
        assert accounted(reading) == lines_of(data)


@EACH
def test_a_line_of_a_megabyte(name: str, tmp_path: Path) -> None:
    """One endless line costs that line, or its document, and no more."""
    data = lengthened(seed(name), 1)
    reading = read(BY_NAME[name], tmp_path, data)

    assert accounted(reading) >= lines_of(data)
    assert reading.rejects.filter(pl.col("text").str.len_chars() > 200).is_empty()
    assert reading.events.filter(pl.col("message").str.len_bytes() > 65_536).is_empty()
