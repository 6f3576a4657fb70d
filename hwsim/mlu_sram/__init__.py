"""Backend ``mlu_sram``: Cambricon MLU370, clusters of four cores around a shared SRAM."""
