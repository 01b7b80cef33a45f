"""InfiniBand ports: exporters, the subnet's tools, ibdiagnet, UFM, the kernel's files."""
