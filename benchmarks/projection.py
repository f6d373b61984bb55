"""What the projection of the hashing embedder's vectors, as Lance has them, loses against the vectors themselves.

    python benchmarks/projection.py passages.parquet text questions.parquet question

Prints, of the ten passages nearest to each question by the vectors, the share that is among the nearest 10, 20, 50 and
100 by the projections, and the mean and largest difference of the cosines of those ten.
"""

import argparse

import numpy as np
import pyarrow.parquet as pq

from sag_retrieval.models.hashing import HashingEmbedder, fit
from sag_retrieval.release.projection import projected


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("passages", "text", "questions", "question"):
        parser.add_argument(name)
    options = parser.parse_args()
    texts = sorted({*pq.read_table(options.passages)[options.text].to_pylist()})
    questions = sorted({*pq.read_table(options.questions)[options.question].to_pylist()})[:500]
    embedder = HashingEmbedder(fit(texts))
    rows, asked = embedder.embed(texts), embedder.embed(questions)
    exact = (asked @ rows.T).toarray()
    near = projected(asked).astype(np.float32) @ projected(rows).astype(np.float32).T
    best = np.argsort(-exact, axis=1)[:, :10]
    order = np.argsort(-near, axis=1)
    places = np.argsort(order, axis=1)
    shares = {k: (np.take_along_axis(places, best, axis=1) < k).mean() for k in (10, 20, 50, 100)}
    off = np.abs(np.take_along_axis(exact - near, best, axis=1))
    found = ", ".join(f"{share:.1%} among {k}" for k, share in shares.items())
    print(f"{len(texts)} passages, {len(questions)} questions: {found}")
    print(f"cosines of these ten differ by {off.mean():.3f}, at most {off.max():.3f}")


if __name__ == "__main__":
    main()
