"""Array types of both packages, each with one name."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
"""Scores and weights during computation."""
Floats32 = npt.NDArray[np.float32]
"""Vectors and scores as they are stored."""
Rows = npt.NDArray[np.int32]
"""Row numbers of a release's tables."""
Rows64 = npt.NDArray[np.int64]
"""Row numbers and positions while a release is built, and pairs of row numbers encoded as one number."""
Flags = npt.NDArray[np.bool_]
Words64 = npt.NDArray[np.uint64]
"""Words of 64 bits: hashes, checksums, packed signs."""
