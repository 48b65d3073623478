"""Virtual machine sizes of Azure as shapes of a node: cores, memory in GiB, GPUs.

A size that stands in neither table is read from its name: the number behind the letters is its cores.
"""

import re

_FAMILIES = {
    # family: GiB of memory for each core, GPUs for each core
    "A": (2.0, 0), "B": (4.0, 0), "D": (4.0, 0), "DS": (4.0, 0), "E": (8.0, 0), "F": (2.0, 0), "FX": (21.0, 0),
    "G": (14.0, 0), "H": (7.0, 0), "HB": (3.8, 0), "HC": (8.0, 0), "L": (8.0, 0), "M": (28.0, 0),
}  # fmt: skip

# Names whose numbers say less than they seem to: the early series and those with GPUs.
_SIZES = {
    "D1_V2": (1, 3.5, 0), "D2_V2": (2, 7, 0), "D3_V2": (4, 14, 0), "D4_V2": (8, 28, 0), "D5_V2": (16, 56, 0),
    "D11_V2": (2, 14, 0), "D12_V2": (4, 28, 0), "D13_V2": (8, 56, 0), "D14_V2": (16, 112, 0), "D15_V2": (20, 140, 0),
    "DS1_V2": (1, 3.5, 0), "DS2_V2": (2, 7, 0), "DS3_V2": (4, 14, 0), "DS4_V2": (8, 28, 0), "DS5_V2": (16, 56, 0),
    "DS11_V2": (2, 14, 0), "DS12_V2": (4, 28, 0), "DS13_V2": (8, 56, 0), "DS14_V2": (16, 112, 0),
    "DS15_V2": (20, 140, 0), "D1": (1, 3.5, 0), "D2": (2, 7, 0), "D3": (4, 14, 0), "D4": (8, 28, 0),
    "D11": (2, 14, 0), "D12": (4, 28, 0), "D13": (8, 56, 0), "D14": (16, 112, 0),
    "A1": (1, 1.75, 0), "A2": (2, 3.5, 0), "A3": (4, 7, 0), "A4": (8, 14, 0),
    "NC6": (6, 56, 1), "NC12": (12, 112, 2), "NC24": (24, 224, 4), "NC24R": (24, 224, 4),
    "NC6_PROMO": (6, 56, 1), "NC12_PROMO": (12, 112, 2), "NC24_PROMO": (24, 224, 4), "NC24R_PROMO": (24, 224, 4),
    "NC6S_V2": (6, 112, 1), "NC12S_V2": (12, 224, 2), "NC24S_V2": (24, 448, 4), "NC24RS_V2": (24, 448, 4),
    "NC6S_V3": (6, 112, 1), "NC12S_V3": (12, 224, 2), "NC24S_V3": (24, 448, 4), "NC24RS_V3": (24, 448, 4),
    "NC4AS_T4_V3": (4, 28, 1), "NC8AS_T4_V3": (8, 56, 1), "NC16AS_T4_V3": (16, 110, 1), "NC64AS_T4_V3": (64, 440, 4),
    "NC24ADS_A100_V4": (24, 220, 1), "NC48ADS_A100_V4": (48, 440, 2), "NC96ADS_A100_V4": (96, 880, 4),
    "NV6": (6, 56, 1), "NV12": (12, 112, 2), "NV24": (24, 224, 4),
    "NV12S_V3": (12, 112, 1), "NV24S_V3": (24, 224, 2), "NV48S_V3": (48, 448, 4),
    "ND6S": (6, 112, 1), "ND12S": (12, 224, 2), "ND24S": (24, 448, 4), "ND24RS": (24, 448, 4),
    "ND40RS_V2": (40, 672, 8), "ND40S_V3": (40, 672, 8), "ND96ASR_V4": (96, 900, 8), "ND96AMSR_A100_V4": (96, 1900, 8),
}  # fmt: skip

DEFAULT = "STANDARD_NC6"
GIB = 1 << 30


def shape(vm_size):
    """(cores, bytes of memory, GPUs) of a size, or None for one that cannot be read."""
    name = re.sub(r"^(STANDARD|BASIC)_", "", (vm_size or DEFAULT).strip().upper())
    if name in _SIZES:
        cores, memory, gpus = _SIZES[name]
        return cores, int(memory * GIB), gpus
    match = re.match(r"^(N[A-Z]*?|[A-Z]{1,2}?)(\d+)(-\d+)?[A-Z]*(_.*)?$", name)
    if not match:
        return None
    family, cores = match.group(1), int(match.group(2))
    if not 0 < cores <= 1024:
        return None
    if family.startswith("N"):
        return cores, int(cores * 9 * GIB), max(1, cores // 6)
    per_core = _FAMILIES.get(family, _FAMILIES.get(family[0], (4.0, 0)))[0]
    return cores, int(cores * per_core * GIB), 0


def nearest(cores, gpus):
    """A size for a shape that no one named: the smallest that has as many cores and GPUs."""
    fitting = [
        (size[0], size[1], name) for name, size in _SIZES.items() if size[2] == gpus and size[0] >= cores
    ]
    return "STANDARD_" + (min(fitting)[2] if fitting else "D2_V2")


def all_sizes():
    """Every size of the table, as AmlCompute.supported_vmsizes gives them."""
    return [
        {
            "name": "Standard_" + name,
            "vCPUs": size[0],
            "gpus": size[2],
            "memoryGB": size[1],
            "maxResourceVolumeMB": 0,
        }
        for name, size in sorted(_SIZES.items())
    ]
