"""Ethernet and RoCE ports: SNMP, gNMI, SONiC, Arista, ethtool, rdma, mlxlink, optics, LLDP."""
