"""Backend ``cpu``: real processors, measured through TVM; there is no simulator of them."""
