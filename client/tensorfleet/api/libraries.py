"""Libraries of compiled ops, which cannot be loaded here, and what `tf.sysconfig` says to their builds."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from tensorfleet.core.errors import NotFoundError, UnimplementedError

CXX11_ABI_FLAG = 0
MONOLITHIC_BUILD = 0
CXX_VERSION = 0


def load_op_library(library_filename: str) -> NoReturn:
    """Refuses: libraries of ops are compiled against TensorFlow's runtime (`tf.load_op_library`).

    Raises:
        NotFoundError: there is no such file.
        UnimplementedError: there is one.
    """
    _refuse("tf.load_op_library", library_filename, "write the op as a Python kernel (docs/adding_an_op.md)")


def load_library(library_location: str) -> NoReturn:
    """Refuses: libraries are compiled against TensorFlow's runtime (`tf.load_library`).

    Raises:
        NotFoundError: there is no such file.
        UnimplementedError: there is one.
    """
    _refuse("tf.load_library", library_location, "write ops as Python kernels (docs/adding_an_op.md)")


def load_file_system_library(library_filename: str) -> NoReturn:
    """Refuses: libraries are compiled against TensorFlow's runtime (`tf.load_file_system_library`).

    Raises:
        NotFoundError: there is no such file.
        UnimplementedError: there is one.
    """
    _refuse("tf.load_file_system_library", library_filename, "mount the file system")


def _refuse(function: str, name: Any, instead: str) -> NoReturn:
    if not Path(name).exists():
        raise NotFoundError(None, None, f"{name}: cannot open shared object file: No such file or directory")
    raise UnimplementedError(
        None,
        None,
        f"{function}: {name} is compiled against TensorFlow's runtime, not this one: {instead}",
    )


def get_include() -> NoReturn:
    """Refuses: there are no headers (`tf.sysconfig.get_include`).

    Raises:
        UnimplementedError: always.
    """
    raise UnimplementedError(None, None, "TensorFleet has no C++ headers: its kernels are Python.")


def get_lib() -> NoReturn:
    """Refuses: there is no library to link with (`tf.sysconfig.get_lib`).

    Raises:
        UnimplementedError: always.
    """
    raise UnimplementedError(None, None, "TensorFleet has no library to link with: its kernels are Python.")


def get_compile_flags() -> list[str]:
    """No flags (`tf.sysconfig.get_compile_flags`): nothing is compiled against this library."""
    return []


def get_link_flags() -> list[str]:
    """No flags (`tf.sysconfig.get_link_flags`): nothing is linked with this library."""
    return []


def get_build_info() -> dict[str, Any]:
    """How the library was built (`tf.sysconfig.get_build_info`): without CUDA and ROCm of its own.

    GPUs are used through CuPy, which brings its CUDA.
    """
    return {"is_cuda_build": False, "is_rocm_build": False, "is_tensorrt_build": False}
