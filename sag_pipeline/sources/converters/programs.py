"""Convert what other programs read: pictures and scans by OCR, Office's files of before 2007 by LibreOffice."""

import io
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from sag_pipeline.sources.converters.pieces import Converted, TextPiece

RAPIDOCR: Final = "rapidocr"
"""As languages of the option `ocr`: the package, with its models of Chinese and English."""
LEGACY: Final = {"doc": "docx", "ppt": "pptx", "xls": "xlsx"}
"""Suffix → that of what LibreOffice makes of such a file."""
_LIBREOFFICE: Final = "soffice"
_TESSERACT: Final = "tesseract"
_SAID: Final = 200
_MOST_PIXELS: Final = 4000
"""Of the longer side of a picture."""


def installed() -> tuple[str, ...]:
    """Which of these programs and packages are there: files that needed one are read again once it is."""
    programs = [name for name in (_TESSERACT, _LIBREOFFICE) if shutil.which(name)]
    return (*programs, *([RAPIDOCR] if find_spec(RAPIDOCR) else ()))


def read_picture(payload: bytes, languages: str) -> str:
    """The text on a picture."""
    if languages == RAPIDOCR:
        return _by_package(payload)
    program = shutil.which(_TESSERACT)
    if program is None:
        raise ValueError(
            "a picture needs the program tesseract; install it with its languages, or install 'sag[ocr]' and give "
            "`--set ocr=rapidocr`, or leave `ocr` empty"
        )
    return _run([program, "stdin", "stdout", "-l", languages], payload).strip()


def convert_picture(payload: bytes, languages: str) -> Converted:
    """The text on a picture, or on each of several in one file."""
    from PIL import Image, ImageOps, ImageSequence  # noqa: PLC0415  only needed for such files

    def pieces() -> Iterator[TextPiece]:
        with Image.open(io.BytesIO(payload)) as picture:
            for number, frame in enumerate(ImageSequence.Iterator(picture), 1):
                shown = ImageOps.exif_transpose(frame).convert("RGB")
                shown.thumbnail((_MOST_PIXELS, _MOST_PIXELS))
                out = io.BytesIO()
                shown.save(out, "PNG")
                place = f"p. {number}" if getattr(picture, "n_frames", 1) > 1 else ""
                yield TextPiece(f"{read_picture(out.getvalue(), languages)}\n\n", place)

    return Converted(None, pieces())


def modern(payload: bytes, suffix: str) -> bytes:
    """A file of Office before 2007 as one of today, by LibreOffice.

    The program is bounded as this process is: in memory and processor time by the limits that it inherits, and it ends
    with this process.
    """
    program = shutil.which(_LIBREOFFICE)
    if program is None:
        raise ValueError(
            f"a .{suffix} file needs the program {_LIBREOFFICE}; install LibreOffice, "
            f"or save the file as .{LEGACY[suffix]}"
        )
    with TemporaryDirectory(prefix="sag-") as name:
        folder = Path(name)
        given = folder / f"in.{suffix}"
        given.write_bytes(payload)
        profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
        options = [profile, "--headless", "--norestore", "--convert-to", LEGACY[suffix], "--outdir", name]
        said = _run([program, *options, str(given)])
        made = given.with_suffix(f".{LEGACY[suffix]}")
        if not made.is_file():
            raise ValueError(f"{_LIBREOFFICE} made nothing of it: {said[:_SAID]}")
        return made.read_bytes()


def _run(command: Sequence[str], given: bytes = b"") -> str:
    found = subprocess.run(command, input=given, capture_output=True, check=False)  # noqa: S603  a program of the system
    if found.returncode:
        said = " ".join(found.stderr.decode("utf-8", "replace").split())[:_SAID]
        raise ValueError(f"{Path(command[0]).name} failed (exit code {found.returncode}): {said}")
    return found.stdout.decode("utf-8", "replace")


def _by_package(payload: bytes) -> str:
    if find_spec(RAPIDOCR) is None:
        raise ValueError(
            "a picture needs the package rapidocr; install 'sag[ocr]', or the program tesseract and give its "
            "languages, as `--set ocr=eng`"
        )
    found = _engine()(payload)
    boxes = [] if found.boxes is None else [(box[:, 1].min(), box[:, 1].max(), box[:, 0].min()) for box in found.boxes]
    lines: list[list[tuple[float, str]]] = []
    bottom = 0.0
    for (top, end, left), text in sorted(zip(boxes, found.txts or (), strict=True), key=lambda each: each[0]):
        if not lines or (top + end) / 2 > bottom:
            lines.append([])
            bottom = end
        lines[-1].append((left, text))
    return "\n".join(" ".join(text for _, text in sorted(line)) for line in lines)


@cache
def _engine() -> Any:  # noqa: ANN401  rapidocr has no types
    from rapidocr import RapidOCR  # noqa: PLC0415  an extra

    return RapidOCR(params={"Global.log_level": "error", "EngineConfig.onnxruntime.intra_op_num_threads": 1})
