"""Pictures of a run, from whatever the user has them in."""

import os
import re
import shutil
import struct
import zlib
from typing import Any, Optional

from . import _injob

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def log_image(name: str, image: Any, step: Optional[int] = None) -> str:
    """Keeps a picture with the run: the path of a file, a matplotlib figure, a PIL image, or an array of pixels.

    Arrays are height x width (grey) or height x width x 3 or 4, of bytes 0 to 255 or floats 0 to 1; numpy arrays and
    nested lists alike. The picture is written below ./outputs/images; gives its path.

        slipway.log_image("confusion", figure)
        slipway.log_image("samples", pixels, step=3)
    """
    folder = os.path.join(_injob.outputs_folder(), "images")
    os.makedirs(folder, exist_ok=True)
    stem = _UNSAFE.sub("_", name).strip("._") or "image"
    if step is not None:
        stem += f"-{int(step)}"
    path = _write(image, os.path.join(folder, stem))
    relative = os.path.relpath(path, os.path.dirname(_injob.outputs_folder())).replace(os.sep, "/")
    message = {"image": {"name": name, "path": relative, "step": int(step or 0)}}
    _injob._object(message, f"would log the image {name}, written to {relative}")
    return path


def _write(image: Any, stem: str) -> str:
    if isinstance(image, (str, os.PathLike)):
        source = os.fspath(image)
        target = stem + (os.path.splitext(source)[1] or ".png")
        if os.path.realpath(source) != os.path.realpath(target):
            shutil.copyfile(source, target)
        return target
    target = stem + ".png"
    if hasattr(image, "savefig"):  # matplotlib's Figure, and pyplot itself
        image.savefig(target)
    elif hasattr(image, "save") and hasattr(image, "mode"):  # PIL
        image.save(target)
    elif hasattr(image, "figure") and hasattr(image.figure, "savefig"):  # an Axes
        image.figure.savefig(target)
    else:
        with open(target, "wb") as file:
            file.write(_png(image))
    return target


def _png(pixels: Any) -> bytes:
    """An array of pixels as a PNG."""
    if hasattr(pixels, "detach"):  # a torch tensor, which may need gradients or be on a GPU
        pixels = pixels.detach().cpu()
    if hasattr(pixels, "numpy"):
        pixels = pixels.numpy()
    rows = pixels.tolist() if hasattr(pixels, "tolist") else pixels
    if (
        not isinstance(rows, (list, tuple))
        or not rows
        or not isinstance(rows[0], (list, tuple))
        or not rows[0]
    ):
        raise TypeError(
            f"a {type(pixels).__name__} is no picture; "
            "give a path, a matplotlib figure, a PIL image or an array of pixels"
        )
    first = rows[0][0]
    channels = len(first) if isinstance(first, (list, tuple)) else 1
    if channels not in (1, 3, 4):
        raise TypeError(f"an array of pixels has 1, 3 or 4 channels last; this one has {channels}")
    # Floats go from 0 to 1, whatever the integers do.
    flat = [
        value
        for row in rows
        for pixel in row
        for value in (pixel if isinstance(pixel, (list, tuple)) else (pixel,))
    ]
    scale = 255.0 if any(isinstance(value, float) for value in flat) and max(flat) <= 1.0 else 1.0
    data = bytearray()
    width = len(rows[0])
    values = iter(flat)
    for _ in rows:
        data.append(0)  # no filter
        for _ in range(width * channels):
            data.append(min(255, max(0, round(next(values) * scale))))
    kind = {1: 0, 3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, len(rows), 8, kind, 0, 0, 0)
    body = zlib.compress(bytes(data), 6)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content) & 0xFFFFFFFF)
    )
