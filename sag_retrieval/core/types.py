"""The array types of both packages, each under one name."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
"""Scores and weights while they are computed."""
Floats32 = npt.NDArray[np.float32]
"""Vectors and scores as they are stored."""
Rows = npt.NDArray[np.int32]
"""Row numbers of a release's tables."""
Rows64 = npt.NDArray[np.int64]
"""Row numbers and positions where a release is made, and pairs of row numbers as one number."""
Flags = npt.NDArray[np.bool_]
Words64 = npt.NDArray[np.uint64]
"""64 bits each: hashes, checksums, packed signs."""
