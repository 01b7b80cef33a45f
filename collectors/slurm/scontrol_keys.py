"""The keys that scontrol prints, by which its records are cut: nothing in them is quoted.

Source: Slurm `src/api/node_info.c` and `src/api/job_info.c`, releases 15.08 to 26.05.
"""

import re
from typing import Final

FREE_KEYS: Final = (
    "OS",
    "Reason",
    "Comment",
    "Extra",
    "JobName",
    "Command",
    "WorkDir",
    "AdminComment",
    "SystemComment",
    "SubmitLine",
    "StdErr",
    "StdIn",
    "StdOut",
)
"""Keys of free texts."""

_NODE_KEYS: Final = """
    NodeName Arch CoresPerSocket CPUAlloc CPUEfctv CPUErr CPUTot CPULoad AvailableFeatures
    ActiveFeatures Features Gres GresDrain GresUsed NodeAddr NodeHostName Port Version RealMemory
    AllocMem FreeMem Sockets Boards SocketsPerBoard CoreSpecCount CPUSpecList MemSpecLimit State
    ThreadsPerCore TmpDisk Weight Owner MCS_label Partitions BootTime SlurmdStartTime LastBusyTime
    ResumeAfterTime CfgTRES AllocTRES CapWatts CurrentWatts AveWatts LowestJoules ConsumedJoules
    ExtSensorsJoules ExtSensorsWatts ExtSensorsTemp InstanceId InstanceType NextState Topology
"""

_JOB_KEYS: Final = """
    JobId ArrayJobId ArrayTaskId HetJobId HetJobOffset UserId GroupId MCS_label Priority Nice
    Account QOS JobState Dependency Requeue Restarts BatchFlag Reboot ExitCode DerivedExitCode
    RunTime TimeLimit TimeMin SubmitTime EligibleTime AccrueTime StartTime EndTime Deadline
    SuspendTime SecsPreSuspend LastSchedEval Scheduler Partition AllocNode:Sid ReqNodeList
    ExcNodeList NodeList FailedNode BatchHost NumNodes NumCPUs NumTasks CPUs/Task ReqB:S:C:T TRES
    ReqTRES AllocTRES Socks/Node NtasksPerN:B:S:C CoreSpec MinCPUsNode MinMemoryNode MinMemoryCPU
    MinTmpDiskNode Features DelayBoot OverSubscribe Contiguous Licenses Network Power TresPerNode
    TresPerJob TresPerTask MailUser MailType Switches
"""

SCONTROL_KEYS: Final = tuple(
    sorted(
        {*FREE_KEYS, *re.findall(r"\S+", _NODE_KEYS), *re.findall(r"\S+", _JOB_KEYS)},
        key=lambda key: (-len(key), key),
    )
)
"""Keys of nodes and jobs, the longest first."""
