"""Processor time of asking an embedding server for vectors: as base64 against decimal numbers.

    python benchmarks/embedding.py [--texts 2000] [--dimension 1536]

Both servers do the same work in a process of their own, and only this process is measured; base64 is measured first
and last, so that a machine that gets faster or slower shows.
"""

import argparse
import sys
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.scripted_server import served
from sag_retrieval.models.embeddings import OpenAIEmbedder


def cpu_seconds(texts: list[str], dimension: int, *, ignores_base64: bool) -> float:
    """Seconds of this process for embedding the texts; the first request, which loads the client, does not count."""
    with served(dimension=dimension, ignores_base64=ignores_base64) as server:
        embedder = OpenAIEmbedder("scripted", base_url=server.base_url, api_key="none", dimension=dimension)
        embedder.embed(["the first"])
        started = process_time()
        embedder.embed(texts)
        return process_time() - started


def main() -> None:
    """Print milliseconds per vector and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=2_000)
    parser.add_argument("--dimension", type=int, default=1_536)
    given = parser.parse_args()
    texts = [f"The report of quarter {n} names {n * 7} buyers." for n in range(given.texts)]
    first, numbers, last = (cpu_seconds(texts, given.dimension, ignores_base64=flag) for flag in (False, True, False))
    packed = (first + last) / 2
    print(f"{given.texts} vectors of {given.dimension} columns, ms of CPU per vector")
    print(f"  base64           {1e3 * first / given.texts:.3f}, {1e3 * last / given.texts:.3f}")
    print(f"  decimal numbers  {1e3 * numbers / given.texts:.3f}   ratio {numbers / packed:.1f}")


if __name__ == "__main__":
    main()
