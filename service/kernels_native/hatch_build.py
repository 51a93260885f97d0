"""Compiles the extensions with the system's C compiler when a wheel is built: CC and CFLAGS as usual."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Sums and products have to be those of NumPy, so nothing is contracted, but for products of matrices; no loop
# asks for the error flags.
FLAGS = [
    "-std=c11",
    "-O3",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-pthread",
]
X86_VARIANTS = {
    "avx2": ("-mavx2", "-mfma", "-mf16c"),
    "avx512": (
        *("-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mfma", "-mf16c"),
        "-mprefer-vector-width=512",
    ),
}

BY_VARIANT = {
    "loops": (),
    "tiles": ("-ffp-contract=fast",),
    "updates": (),
    "winograd_loops": ("-ffp-contract=fast",),
}
"""Sources that are compiled for each instruction set, with flags of their own."""


def compile_extensions(root: Path, folder: Path) -> list[str]:
    """Makes the modules of the sources under `root`, in a folder; their names.

    Raises:
        OSError, subprocess.CalledProcessError: there is no compiler, or it fails.
    """
    compiler = shlex.split(os.environ.get("CC") or "cc")
    own = [*FLAGS, *shlex.split(os.environ.get("CFLAGS", "")), f"-I{sysconfig.get_path('include')}"]
    is_x86 = platform.machine() in ("x86_64", "AMD64")
    dispatch = ("-DX86_VARIANTS",) if is_x86 else ()
    plain = (
        "arrays",
        "choices",
        "convolution",
        "copying",
        "example_values",
        "examples",
        "framing",
        "groups",
        "images",
        "module",
        "pool",
        "pooling",
        "product",
        "sequences",
        "winograd",
    )
    units: list[tuple[str, str, tuple[str, ...]]] = [(name, f"{name}.c", dispatch) for name in plain]
    for source, flags in BY_VARIANT.items():
        variants = {"base": (), **(X86_VARIANTS if is_x86 else {})}
        units += [
            (f"{source}_{name}", f"{source}.c", (f"-DVARIANT={name}", *flags, *own_flags))
            for name, own_flags in variants.items()
        ]
    modules = {
        "_native": units,
        "_tls": [(name, f"{name}.c", ()) for name in ("tls", "tls_beside", "tls_channel", "tls_library")],
    }
    for module, parts in modules.items():
        with tempfile.TemporaryDirectory() as temporary:
            objects = []
            for name, source, flags in parts:
                objects.append(f"{temporary}/{name}.o")
                subprocess.run(
                    [*compiler, *own, *flags, "-c", str(root / "src" / source), "-o", objects[-1]], check=True
                )
            target = str(folder / f"{module}.abi3.so")
            subprocess.run(
                [*compiler, "-shared", "-pthread", *objects, "-lm", "-ldl", "-o", target], check=True
            )
    return [f"{module}.abi3.so" for module in modules]


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds the compiled modules to the wheel; one file each serves CPython 3.11 and all after it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        made = compile_extensions(root, root / "tensorfleet_kernels")
        build_data["artifacts"] = [f"tensorfleet_kernels/{name}" for name in made]
        build_data["pure_python"] = False
        tag = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"cp311-abi3-{tag}"
