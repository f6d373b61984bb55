"""Read pages that are images with the Tesseract program, where it is installed and OCR is asked for."""

import io
import shutil
import subprocess

_RESOLUTION = 200
_MOST_PIXELS = 4000
"""Of the longer side of a page."""
PROGRAM = "tesseract"


def read_image_page(payload: bytes, index: int, languages: str) -> str:
    """The text on the image of one page of a PDF.

    Raises:
        ValueError: If the program is not installed or refuses the languages.

    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise ValueError(
            "a scanned page needs the program tesseract; install it with its languages, or leave `ocr` empty"
        )
    found = subprocess.run(  # noqa: S603  a program of the system; languages are checked by the options
        [program, "stdin", "stdout", "-l", languages],
        input=_image(payload, index),
        capture_output=True,
        check=False,
    )
    if found.returncode:
        said = " ".join(found.stderr.decode("utf-8", "replace").split())[:200]
        raise ValueError(f"tesseract failed (exit code {found.returncode}): {said}")
    return found.stdout.decode("utf-8", "replace").strip()


def _image(payload: bytes, index: int) -> bytes:
    """A page as PNG."""
    import pypdfium2  # noqa: PLC0415  only needed for scans

    pdf = pypdfium2.PdfDocument(payload)
    try:
        page = pdf[index]
        scale = min(_RESOLUTION / 72, _MOST_PIXELS / max(*page.get_size(), 1))
        out = io.BytesIO()
        page.render(scale=scale, grayscale=True).to_pil().save(out, "PNG")
        return out.getvalue()
    finally:
        pdf.close()
