#!/usr/bin/env python3
"""Makes kernels/ptx/kernels.ptx from kernels/cuda/*.cu, or checks that it is what they make.

    python3 kernels/ptx.py              write the file
    python3 kernels/ptx.py --check      compare only; exit status 1 if it differs

The compiler is NVRTC 11.8, whose PTX every driver since CUDA 11.8 takes. It needs no GPU. It is
fetched from PyPI by pip on first use (a wheel of 23 MB for x86-64 Linux, verified by its hash) and
kept in target/; --nvrtc names another place for, or a copy of, libnvrtc.so.11.2.

Exit status: 0 done or up to date; 1 the committed file differs; 2 it could not be made.
"""

import argparse
import ctypes
import difflib
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE / "cuda"
PTX = HERE / "ptx" / "kernels.ptx"

VERSION = "11.8.89"
REQUIREMENT = (
    f"nvidia-cuda-nvrtc-cu11=={VERSION} "
    "--hash=sha256:a8d02f3cba345be56b1ffc3e74d8f61f02bb758dd31b0f20e12277a5a244f756\n"
)
LIBRARY = pathlib.Path("nvidia", "cuda_nvrtc", "lib", "libnvrtc.so.11.2")

# Without contraction (fmad) a kernel rounds as its host twin does; where the sources say fmaf, they
# get it. The device is compute_52, the oldest that NVRTC 11.8 does not call deprecated.
OPTIONS = ["--gpu-architecture=compute_52", "--std=c++14", "--fmad=false"]

HEADER = """\
// The kernels of kernels/cuda/*.cu, compiled by kernels/ptx.py. Do not edit: change the sources and
// run `cargo xtask ptx`.
"""


class Failure(Exception):
    """A reason why no PTX could be made, as told to the user."""


def main():
    parser = argparse.ArgumentParser(
        description="Compile kernels/cuda/*.cu to kernels/ptx/kernels.ptx."
    )
    parser.add_argument(
        "--check", action="store_true", help="compare with the committed file, write nothing"
    )
    parser.add_argument(
        "--nvrtc",
        type=pathlib.Path,
        metavar="PATH",
        default=pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or HERE.parent / "target")
        / f"nvrtc-{VERSION}",
        help="libnvrtc.so.11.2, or a folder that holds it or that pip may install it into"
        " (default: %(default)s)",
    )
    arguments = parser.parse_args()
    try:
        made = HEADER + compile_all(ctypes.CDLL(str(nvrtc_library(arguments.nvrtc))))
    except (Failure, OSError) as failure:
        print(f"ptx.py: {failure}", file=sys.stderr)
        return 2
    name = os.path.relpath(PTX)
    committed = PTX.read_text() if PTX.exists() else None
    if made == committed:
        print(f"{name} is up to date")
        return 0
    if arguments.check:
        if committed is None:
            print(f"{name} is missing; run `cargo xtask ptx` and commit it", file=sys.stderr)
            return 1
        changes = list(
            difflib.unified_diff(
                committed.splitlines(), made.splitlines(), "committed", "made now", n=1, lineterm=""
            )
        )
        print("\n".join(changes[:20]), file=sys.stderr)
        print(
            f"{name} is not what the sources make ({len(changes)} lines of differences);"
            " run `cargo xtask ptx` and commit it",
            file=sys.stderr,
        )
        return 1
    PTX.parent.mkdir(exist_ok=True)
    PTX.write_text(made)
    print(f"{name} written")
    return 0


def nvrtc_library(place):
    """The path of libnvrtc.so.11.2 at or under `place`, installed there if it is not."""
    if place.is_file():
        return place.resolve()
    for library in (place / LIBRARY.name, place / LIBRARY):
        if library.exists():
            return library.resolve()
    install(place)
    if not (place / LIBRARY).exists():
        raise Failure(f"pip installed no {LIBRARY} under {place}")
    return (place / LIBRARY).resolve()


def install(place):
    pip = [sys.executable, "-m", "pip"]
    if subprocess.run([*pip, "--version"], capture_output=True).returncode != 0:
        raise Failure(
            f"{sys.executable} has no pip, which would fetch NVRTC {VERSION};"
            " install pip, or name a copy of libnvrtc.so.11.2 with --nvrtc"
        )
    print(f"fetching NVRTC {VERSION} into {place}", file=sys.stderr)
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as requirements:
        requirements.write(REQUIREMENT)
        requirements.flush()
        done = subprocess.run(
            [*pip, "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
            + ["--only-binary=:all:", "--require-hashes", "--upgrade", "--target", str(place)]
            + ["--requirement", requirements.name],
            capture_output=True,
            text=True,
        )
    if done.returncode != 0:
        raise Failure(
            f"pip could not fetch NVRTC {VERSION} (is there a network?):\n{done.stderr.strip()}"
        )


def compile_all(nvrtc):
    """The PTX of all sources, compiled as one program."""
    headers = {path.name: path.read_text() for path in sorted(SOURCES.glob("*.cu*"))}
    program = "".join(f'#include "{name}"\n' for name in headers if name.endswith(".cu"))
    if not program:
        raise Failure(f"no .cu files in {SOURCES}")

    def check(status):
        if status != 0:
            nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
            raise Failure(f"NVRTC: {nvrtc.nvrtcGetErrorString(status).decode()}")

    def text(size_of, get):
        size = ctypes.c_size_t()
        check(size_of(handle, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        check(get(handle, buffer))
        return buffer.value.decode()

    def strings(values):
        return (ctypes.c_char_p * len(values))(*[value.encode() for value in values])

    handle = ctypes.c_void_p()
    check(
        nvrtc.nvrtcCreateProgram(
            ctypes.byref(handle),
            program.encode(),
            b"kernels.cu",
            len(headers),
            strings(headers.values()),
            strings(headers.keys()),
        )
    )
    try:
        status = nvrtc.nvrtcCompileProgram(handle, len(OPTIONS), strings(OPTIONS))
        log = text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog).strip()
        if status != 0:
            raise Failure(f"the sources do not compile:\n{log}")
        if log:
            print(log, file=sys.stderr)
        return text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(handle))


if __name__ == "__main__":
    sys.exit(main())
