"""Certificates for servers that tests start."""

import subprocess
from pathlib import Path


def certificate_for(address, folder):
    """A certificate that signs itself, good for that address for a day; gives its file and that of its key."""
    key, certificate = Path(folder) / "key.pem", Path(folder) / "cert.pem"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=slipway", "-addext"]
    subprocess.run(
        ["openssl", *words, f"subjectAltName=IP:{address}", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    return certificate, key
