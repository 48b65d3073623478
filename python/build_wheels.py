#!/usr/bin/env python3
"""Builds the wheels of the Python packages with the standard library alone.

  build_wheels.py --out DIR                    the pure wheels, which run on any machine
  build_wheels.py --out DIR --embed FILE.cc    the same, and a C++ source that holds them (src/bundle)
  build_wheels.py --out DIR --binary PROGRAM   the same, but the wheel of `slipway` brings the program along

The same sources give the same bytes: files in the order of their names, one fixed time, no machine's own facts.
"""

import argparse
import base64
import hashlib
import platform
import re
import sys
import zipfile
from pathlib import Path

PYTHON = Path(__file__).resolve().parent
ROOT = PYTHON.parent
FIXED_TIME = (2020, 1, 1, 0, 0, 0)
KINDS = {".py", ".typed", ".js", ".css", ".html", ".json", ".yml"}

# Distribution -> its top-level package, and what it needs.
DISTRIBUTIONS = {
    "slipway": {
        "package": "slipway",
        "summary": "Client of Slipway, which trains models on machines of your own, and what a job logs with",
        "requires": [],
        "readme": "docs/python.md",
    },
    "slipway-azureml": {
        "package": "azureml",
        "summary": "Runs code written for the Azure ML SDK v1 on Slipway, unchanged",
        "requires": ["slipway=={version}"],
        "readme": "docs/azureml.md",
    },
}


def project_version():
    text = (ROOT / "CMakeLists.txt").read_text()
    version = re.search(r"project\(slipway VERSION ([0-9.]+)", text).group(1)
    stated = re.search(r'"([^"]+)"', (PYTHON / "slipway" / "_version.py").read_text()).group(1)
    if version != stated:
        sys.exit(f"python/slipway/_version.py says {stated} and CMakeLists.txt says {version}; make them one")
    return version


def package_files(package):
    """Path below the package's parent -> content."""
    folder = PYTHON / package
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in KINDS and "__pycache__" not in path.parts:
            found[path.relative_to(PYTHON).as_posix()] = path.read_bytes()
    return found


def metadata(name, version):
    about = DISTRIBUTIONS[name]
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        f"Summary: {about['summary']}",
        "License: Apache-2.0",
        "Classifier: License :: OSI Approved :: Apache Software License",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Programming Language :: Python :: 3",
        "Classifier: Typing :: Typed",
        "Requires-Python: >=3.6",
    ]
    lines += [f"Requires-Dist: {need.format(version=version)}" for need in about["requires"]]
    readme = ROOT / about["readme"]
    if readme.is_file():
        lines += ["Description-Content-Type: text/markdown", "", readme.read_text()]
    return "\n".join(lines) + "\n"


def glibc_of(program):
    """The newest glibc symbol version the program asks for."""
    found = {(int(a), int(b)) for a, b in re.findall(rb"GLIBC_(\d+)\.(\d+)", program)}
    if not found:
        sys.exit("the program names no glibc version: it is no dynamically linked Linux program")
    return max(found)


def digest(content):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def write_wheel(out, name, version, tag, files, scripts=None):
    """Gives the wheel's path. `scripts` are programs for the environment's bin folder."""
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    content = dict(files)
    content[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    content[f"{info}/METADATA"] = metadata(name, version).encode()
    pure = "false" if scripts else "true"
    content[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: slipway ({version})\nRoot-Is-Purelib: {pure}\nTag: {tag}\n".encode()
    )
    programs = {f"{stem}.data/scripts/{path}": data for path, data in (scripts or {}).items()}
    content.update(programs)
    record = f"{info}/RECORD"
    rows = [f"{path},{digest(data)},{len(data)}" for path, data in sorted(content.items())]
    content[record] = ("\n".join([*rows, f"{record},,"]) + "\n").encode()

    target = out / f"{stem}-{tag}.whl"
    partial = target.with_name(target.name + ".part")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        # The metadata last, as installers expect to find it.
        for path in sorted(content, key=lambda p: (p.startswith(info), p)):
            entry = zipfile.ZipInfo(path, FIXED_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if path in programs else 0o100644) << 16
            archive.writestr(entry, content[path])
    partial.replace(target)
    return target


def byte_array(name, data):
    lines = [f"constexpr unsigned char {name}[] = {{"]
    lines += [",".join(map(str, data[at : at + 40])) + "," for at in range(0, len(data), 40)]
    return "\n".join([*lines, "0};"])


def embedded(wheels, files):
    """A C++ source with the wheels and, one by one, the files of their packages."""
    arrays, wheel_rows, file_rows = [], [], []
    for index, wheel in enumerate(wheels):
        data = wheel.read_bytes()
        arrays.append(byte_array(f"kWheel{index}", data))
        wheel_rows.append(f'    {{"{wheel.name}", text(kWheel{index}, {len(data)})}},')
    for index, (path, data) in enumerate(sorted(files.items())):
        arrays.append(byte_array(f"kFile{index}", data))
        file_rows.append(f'    {{"{path}", text(kFile{index}, {len(data)})}},')
    return "\n".join(
        [
            "// Made by python/build_wheels.py from the folder python.",
            '#include "bundle/wheels.h"',
            "namespace slipway::bundle {",
            "namespace {",
            *arrays,
            "std::string_view text(const unsigned char* bytes, size_t size) {",
            "  return {reinterpret_cast<const char*>(bytes), size};",
            "}",
            "}  // namespace",
            "std::span<const Wheel> wheels() {",
            "  static const Wheel kWheels[] = {",
            *wheel_rows,
            "  };",
            "  return kWheels;",
            "}",
            "std::span<const PackageFile> package_files() {",
            "  static const PackageFile kFiles[] = {",
            *file_rows,
            "  };",
            "  return kFiles;",
            "}",
            "}  // namespace slipway::bundle",
            "",
        ]
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--embed", type=Path)
    parser.add_argument("--binary", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    version = project_version()

    wheels, files = [], {}
    for name, about in DISTRIBUTIONS.items():
        found = package_files(about["package"])
        tag, scripts = "py3-none-any", None
        if options.binary and name == "slipway":
            program = options.binary.read_bytes()
            major, minor = glibc_of(program)
            tag, scripts = f"py3-none-manylinux_{major}_{minor}_{platform.machine()}", {"slipway": program}
        wheels.append(write_wheel(options.out, name, version, tag, found, scripts))
        files.update(found)
    if options.embed:
        options.embed.write_text(embedded(wheels, files))
    else:
        print("\n".join(map(str, wheels)))


if __name__ == "__main__":
    main()
