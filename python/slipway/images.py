"""Pictures, from whatever the user has them in."""

import io
import os
import re
import struct
import zlib
from typing import Any, Optional, Tuple

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def stem_of(name: str, step: Optional[int]) -> str:
    """A file's name for a picture.

    >>> stem_of("val/confusion matrix", 3)
    'val_confusion_matrix-3'
    """
    stem = _UNSAFE.sub("_", name).strip("._") or "image"
    return stem if step is None else f"{stem}-{int(step)}"


def picture(image: Any) -> Tuple[bytes, str]:
    """The bytes of a picture, and the suffix of its file."""
    if isinstance(image, (str, os.PathLike)):
        with open(image, "rb") as file:
            return file.read(), os.path.splitext(os.fspath(image))[1] or ".png"
    out = io.BytesIO()
    if hasattr(image, "savefig"):  # matplotlib's Figure, and pyplot itself
        image.savefig(out, format="png")
    elif hasattr(image, "save") and hasattr(image, "mode"):  # PIL
        image.save(out, format="PNG")
    elif hasattr(image, "figure") and hasattr(image.figure, "savefig"):  # an Axes
        image.figure.savefig(out, format="png")
    else:
        return png(image), ".png"
    return out.getvalue(), ".png"


def png(pixels: Any) -> bytes:
    """An array of pixels as a PNG.

    >>> png([[0, 255], [128, 7]])[:4]
    b'\\x89PNG'
    """
    if hasattr(pixels, "detach"):  # a torch tensor, which may need gradients or be on a GPU
        pixels = pixels.detach().cpu()
    if hasattr(pixels, "numpy"):
        pixels = pixels.numpy()
    rows = pixels.tolist() if hasattr(pixels, "tolist") else pixels
    if not (isinstance(rows, (list, tuple)) and rows and isinstance(rows[0], (list, tuple)) and rows[0]):
        raise TypeError(
            f"a {type(pixels).__name__} is no picture; "
            "give a path, a matplotlib figure, a PIL image or an array of pixels"
        )
    first = rows[0][0]
    channels = len(first) if isinstance(first, (list, tuple)) else 1
    if channels not in (1, 3, 4):
        raise TypeError(f"an array of pixels has 1, 3 or 4 channels last; this one has {channels}")
    flat = [
        v for row in rows for pixel in row for v in (pixel if isinstance(pixel, (list, tuple)) else (pixel,))
    ]
    # Floats go from 0 to 1, whatever the integers do.
    scale = 255.0 if any(isinstance(v, float) for v in flat) and max(flat) <= 1.0 else 1.0
    line = len(rows[0]) * channels
    if len(flat) != line * len(rows):
        raise TypeError("the rows of an array of pixels have one length")
    data = bytearray()
    for start in range(0, len(flat), line):
        data.append(0)  # no filter
        data += bytes(min(255, max(0, round(v * scale))) for v in flat[start : start + line])
    kind = {1: 0, 3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, kind, 0, 0, 0)
    body = zlib.compress(bytes(data), 6)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content) & 0xFFFFFFFF
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)
