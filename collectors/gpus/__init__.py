"""GPUs as dcgm-exporter, dcgmi and nvidia-smi tell of them."""
