"""The program as a file: what it is made of, and how it installs."""

import subprocess

from support.server import DEV, RELEASE, ROOT


def test_release_has_no_failpoints():
    content = RELEASE.read_bytes()
    assert b"SLIPWAY_FAILPOINT" not in content
    assert b"SLIPWAY_FAILPOINT" in DEV.read_bytes(), "the check looks for the wrong mark"


def test_release_needs_only_glibc():
    needed = subprocess.run(["ldd", RELEASE], capture_output=True, text=True, check=True).stdout
    names = {line.split()[0].rpartition("/")[2] for line in needed.splitlines()}
    glibc = {"linux-vdso.so.1", "libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"}
    assert names <= glibc | {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libresolv.so.2"}, names


def test_installs_into_a_prefix(tmp_path):
    subprocess.run(
        ["cmake", "--install", ROOT / "build" / "release", "--prefix", tmp_path],
        check=True,
        capture_output=True,
    )
    program = tmp_path / "bin" / "slipway"
    assert subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def test_cpp_header_for_jobs_is_installed_and_compiles(tmp_path):
    subprocess.run(
        ["cmake", "--install", ROOT / "build" / "release", "--prefix", tmp_path],
        check=True,
        capture_output=True,
    )
    headers = list((tmp_path / "include").rglob("*.h"))
    assert headers, "no header was installed"
    source = tmp_path / "use.cc"
    source.write_text(
        "".join(f'#include "{header.relative_to(tmp_path / "include")}"\n' for header in headers)
        + "int main() {}\n"
    )
    subprocess.run(
        ["clang++-19", "-std=c++17", "-fsyntax-only", "-I", tmp_path / "include", source],
        check=True,
        timeout=60,
    )
