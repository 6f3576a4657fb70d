"""Backend ``gpu_sm``: NVIDIA streaming multiprocessors."""
