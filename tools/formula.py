"""The numbers that the tests' C code knows as well (formula_uniform), so that only results are stored."""
import numpy as np


def uniform(stream, count):
    """Numbers in [-1, 1): splitmix64 of (stream << 32) + index."""
    with np.errstate(over='ignore'):
        z = (np.uint64(stream) << np.uint64(32)) + np.arange(count, dtype=np.uint64)
        z = z * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(40)).astype(np.float64) / (1 << 23) - 1
