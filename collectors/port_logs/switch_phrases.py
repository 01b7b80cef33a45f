"""What switches and hosts say of their ports: one table, the surest phrase first.

Source: formats of fabric counters, section 4; sonic-net/sonic-swss `orchagent/portsorch.cpp`,
`orchagent/pfcactionhandler.cpp` and `cfgmgr/portmgr.cpp`; napalm-logs for the IOS-like families
(Arista, NX-OS, Junos); Linux `mlx5_core` and systemd-networkd.
"""

from typing import Final

from collectors.texts.phrases import Phrase

_PORT: Final = r"(?P<device>[^\s,;:()]+)"

_SONIC: Final = (
    Phrase(
        kind="link_unchanged",
        pattern=rf"Port {_PORT} oper state set from (?:up to (?P<code>up)|down to down)",
        code="down",
    ),
    Phrase(
        kind="link_down",
        severity="warning",
        pattern=rf"Port {_PORT} oper state set from \w+ to down",
        code="oper",
    ),
    Phrase(kind="link_up", pattern=rf"Port {_PORT} oper state set from \w+ to up", code="oper"),
    Phrase(
        kind="link_down",
        pattern=rf"Set operation status DOWN to host interface {_PORT}",
        code="host_interface",
        severity="warning",
    ),
    Phrase(
        kind="link_up",
        pattern=rf"Set operation status UP to host interface {_PORT}",
        code="host_interface",
    ),
    Phrase(
        kind="port_error",
        pattern=rf"Port {_PORT} oper error event: (?P<code>\w+)",
        severity="warning",
    ),
    Phrase(
        kind="pfc_storm",
        pattern=rf"PFC Watchdog detected PFC storm on +port {_PORT}",
        severity="error",
    ),
    Phrase(kind="pfc_storm_end", pattern=rf"storm restored on +port {_PORT}"),
    Phrase(
        kind="admin_down",
        pattern=rf"(?i)(?:Set port |Configure ){_PORT} admin (?:status|state) to (?:down|false)",
    ),
    Phrase(
        kind="admin_up",
        pattern=rf"(?i)(?:Set port |Configure ){_PORT} admin (?:status|state) to (?:up|true)",
    ),
    Phrase(
        kind="admin_down",
        pattern=r"config interface (?:-n \S+ )?shutdown (?P<device>[A-Z]\w*\d)(?:\s|$)",
    ),
    Phrase(
        kind="admin_up",
        pattern=r"config interface (?:-n \S+ )?startup (?P<device>[A-Z]\w*\d)(?:\s|$)",
    ),
    Phrase(
        kind="boot", pattern=r"Starting Orchestration Agent", code="orchagent", severity="warning"
    ),
)

_IOS: Final = (
    Phrase(
        kind="admin_down",
        pattern=rf"%(?:LINK|ETHPORT)-\d-\w+: Interface {_PORT}(?: \(.*\))?,? "
        r"(?:changed state to|is down \()\s?[Aa]dministratively [Dd]own",
    ),
    Phrase(
        kind="link_down",
        pattern=rf"%LINEPROTO-\d-\w+: Line protocol on Interface {_PORT}(?: \(.*\))?, "
        r"changed state to down",
        code="line_protocol",
        severity="warning",
    ),
    Phrase(
        kind="link_up",
        pattern=rf"%LINEPROTO-\d-\w+: Line protocol on Interface {_PORT}(?: \(.*\))?, "
        r"changed state to up",
        code="line_protocol",
    ),
    Phrase(
        kind="link_down",
        pattern=rf"%LINK-\d-\w+: Interface {_PORT}(?: \(.*\))?, changed state to down",
        code="link",
        severity="warning",
    ),
    Phrase(
        kind="link_up",
        pattern=rf"%LINK-\d-\w+: Interface {_PORT}(?: \(.*\))?, changed state to up",
        code="link",
    ),
    Phrase(
        kind="link_down",
        pattern=rf"%ETHPORT-\d-IF_DOWN_(?P<code>\w+): Interface {_PORT}",
        severity="warning",
    ),
    Phrase(kind="admin_up", pattern=rf"%ETHPORT-\d-IF_ADMIN_UP: Interface {_PORT}"),
    Phrase(kind="link_up", pattern=rf"%ETHPORT-\d-IF_UP: Interface {_PORT}", code="ethport"),
    Phrase(
        kind="port_error",
        pattern=rf"%(?:\w+)-\d-(?P<code>ERR_?DISABLE)\w*:.*?[Ii]nterface {_PORT}",
        severity="error",
    ),
    Phrase(
        kind="link_down",
        pattern=r"SNMP_TRAP_LINK_DOWN: .*ifOperStatus down\(2\), ifName (?P<device>[^\s,]+)",
        code="snmp_trap",
        severity="warning",
    ),
    Phrase(
        kind="link_up",
        pattern=r"SNMP_TRAP_LINK_UP: .*ifOperStatus up\(1\), ifName (?P<device>[^\s,]+)",
        code="snmp_trap",
    ),
    Phrase(
        kind="boot",
        pattern=r"%SYS-\d-(?:SYSTEM_)?RESTART(?:ED)?\b|%SYSMGR-\d-SUBPROC_SUCCESS_EXIT.*reload",
        code="system",
        severity="warning",
    ),
)

_LINUX_PORT: Final = r"(?P<device>[A-Za-z][\w.-]*\d[\w.-]*)"

_LINUX: Final = (
    Phrase(
        kind="link_down",
        pattern=rf"[0-9a-f]{{4}}:[0-9a-f]{{2}}:[0-9a-f]{{2}}\.[0-7] {_LINUX_PORT}: "
        r"(?:NIC )?[Ll]ink (?:is )?[Dd]own",
        code="driver",
        severity="warning",
    ),
    Phrase(
        kind="link_up",
        pattern=rf"[0-9a-f]{{4}}:[0-9a-f]{{2}}:[0-9a-f]{{2}}\.[0-7] {_LINUX_PORT}: "
        r"(?:NIC )?[Ll]ink (?:is )?[Uu]p",
        code="driver",
    ),
    Phrase(
        kind="link_down",
        severity="warning",
        pattern=rf"\b{_LINUX_PORT}: Lost carrier\b",
        code="carrier",
    ),
    Phrase(kind="link_up", pattern=rf"\b{_LINUX_PORT}: Gained carrier\b", code="carrier"),
    Phrase(
        kind="link_down",
        severity="warning",
        pattern=rf"\b{_LINUX_PORT}: carrier lost\b",
        code="carrier",
    ),
    Phrase(kind="link_up", pattern=rf"\b{_LINUX_PORT}: carrier acquired\b", code="carrier"),
    Phrase(kind="link_up", pattern=rf"\b{_LINUX_PORT}: link becomes ready", code="carrier"),
    Phrase(
        kind="link_down",
        pattern=r"\b(?P<device>(?:swp|eth|en|ib)\w*\d\w*): (?:NIC )?[Ll]ink (?:is )?[Dd]own\b",
        code="driver",
        severity="warning",
    ),
    Phrase(
        kind="link_up",
        pattern=r"\b(?P<device>(?:swp|eth|en|ib)\w*\d\w*): (?:NIC )?[Ll]ink (?:is )?[Uu]p\b",
        code="driver",
    ),
    Phrase(
        kind="link_down",
        pattern=r"\bPort (?P<device>\d+) changed state to down",
        code="logical_port",
        severity="warning",
    ),
    Phrase(
        kind="link_up", pattern=r"\bPort (?P<device>\d+) changed state to up", code="logical_port"
    ),
)

_PUBLISHED: Final = (
    Phrase(
        kind="link_down",
        pattern=r'EVENT_PUBLISHED: .*:if-state"\s*:\s*\{.*"status"\s*:\s*"down"',
        code="published",
        severity="warning",
    ),
    Phrase(
        kind="link_up",
        pattern=r'EVENT_PUBLISHED: .*:if-state"\s*:\s*\{.*"status"\s*:\s*"up"',
        code="published",
    ),
    Phrase(
        kind="pfc_storm",
        pattern=r'EVENT_PUBLISHED: .*:pfc-storm"\s*:',
        code="published",
        severity="error",
    ),
)

SWITCH_PHRASES: Final = (*_PUBLISHED, *_SONIC, *_IOS, *_LINUX)
"""In order: the first that fits a message names it."""

SWITCH_HINT: Final = (
    r"oper state set|operation status|oper error event|PFC storm|storm restored|admin st|"
    r"config interface|Orchestration Agent|EVENT_PUBLISHED|%LINEPROTO-|%LINK-|%ETHPORT-|%SYS|"
    r"ERR_?DISABLE|SNMP_TRAP_LINK|[Ll]ink (?:is )?(?:[Dd]own|[Uu]p)|carrier|link becomes ready|"
    r"changed state to"
)
"""Words one of which each phrase holds."""
