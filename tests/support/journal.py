"""Writes journal records as a supervisor does, so that tests can send what a real agent would not."""

import json
import struct
import time

PHASE, LOG, METRICS, SAMPLE, TAGS, FILE, MARK, EXIT = range(1, 9)


def _table():
    rows = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        rows.append(value)
    return rows


_TABLE = _table()


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def record(kind, sequence, payload):
    if not isinstance(payload, bytes):
        payload = json.dumps(payload).encode()
    head = struct.pack("<IB3xQq", len(payload), kind, sequence, int(time.time() * 1e6))
    return head + struct.pack("<I", crc32c(head + payload)) + payload
