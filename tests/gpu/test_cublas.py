"""cuBLAS by ctypes: products of all layouts on the stand-in's library; the real one's header and refusals."""

from __future__ import annotations

import ctypes
import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorfleet_service.devices import cublas
from tensorfleet_service.devices.cublas import Cublas, CublasError, matmul, products_by

RNG = np.random.default_rng(0)


def values(shape: tuple[int, ...], dtype: Any) -> Any:
    found = RNG.normal(size=shape)
    return (found + 1j * RNG.normal(size=shape) if np.dtype(dtype).kind == "c" else found).astype(dtype)


def turned(xp: Any, x: Any) -> Any:
    """The array with the same values, whose last two dimensions lie in memory the other way round."""
    return xp.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)


LAYOUTS: dict[str, Callable[[Any, Any], Any]] = {
    "rows": lambda xp, x: x,
    "columns": turned,
    "parts of rows": lambda xp, x: xp.concatenate([x, x], -1)[..., : x.shape[-1]],
    "parts of columns": lambda xp, x: turned(xp, xp.concatenate([x, x], -2))[..., : x.shape[-2], :],
    "every other": lambda xp, x: xp.repeat(x, 2, -1)[..., ::2],
    "backwards": lambda xp, x: xp.ascontiguousarray(x[..., ::-1])[..., ::-1],
}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("sizes", [(3, 4, 5), (1, 4, 5), (3, 1, 5), (3, 4, 1), (1, 1, 1)])
def test_products_of_all_layouts(xp: Any, sizes: tuple[int, ...], left: str, right: str, dtype: str) -> None:
    m, k, n = sizes
    a, b = values((m, k), dtype), values((k, n), dtype)
    own = Cublas(xp, xp.cuda.get_current_stream().ptr)
    on_left, on_right = LAYOUTS[left](xp, xp.asarray(a)), LAYOUTS[right](xp, xp.asarray(b))
    found = xp.asnumpy(own.matmul(on_left, on_right))
    np.testing.assert_allclose(found, a @ b, rtol=1e-2 if dtype == "float16" else 1e-4, atol=1e-2)
    own.close()


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((6, 3, 4), (6, 4, 5)),
        ((2, 3, 3, 4), (2, 3, 4, 5)),
        ((3, 4), (6, 4, 5)),
        ((6, 3, 4), (1, 4, 5)),
        ((2, 1, 3, 4), (3, 4, 5)),
        ((1, 3, 4), (4, 5)),
        ((0, 3, 4), (0, 4, 5)),
        ((3, 0), (0, 5)),
    ],
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_batches_are_broadcast(xp: Any, left: tuple[int, ...], right: tuple[int, ...], layout: str) -> None:
    a, b = values(left, "float32"), values(right, "float32")
    own = Cublas(xp, xp.cuda.get_current_stream().ptr)
    found = own.matmul(LAYOUTS[layout](xp, xp.asarray(a)), LAYOUTS[layout](xp, xp.asarray(b)))
    assert found.shape == (a @ b).shape
    np.testing.assert_allclose(xp.asnumpy(found), a @ b, rtol=1e-5, atol=1e-5)
    out = xp.empty(found.shape, np.float32)
    assert own.matmul(xp.asarray(a), xp.asarray(b), out) is out
    np.testing.assert_allclose(xp.asnumpy(out), a @ b, rtol=1e-5, atol=1e-5)
    own.close()


def test_what_does_not_fit_is_refused(xp: Any) -> None:
    own = Cublas(xp, xp.cuda.get_current_stream().ptr)
    a = xp.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match="matmul of"):
        own.matmul(a, a)
    with pytest.raises(ValueError, match="contiguous"):
        own.matmul(a, a.T, xp.ones((2, 3), np.float32))
    own.close()


def test_kernels_have_their_products_by_it_where_they_are_told(xp: Any, is_stand_in: bool) -> None:
    own = Cublas(xp, xp.cuda.get_current_stream().ptr)
    a, b = xp.ones((2, 3), np.float32), xp.ones((3, 2), np.float32)
    whole = xp.ones((2, 2), np.int64)
    with products_by(own):
        assert xp.asnumpy(matmul(xp, a, b)).tolist() == [[3, 3], [3, 3]]
        assert xp.asnumpy(matmul(xp, whole, whole)).tolist() == [[2, 2], [2, 2]]
    if is_stand_in:
        assert cublas.library().calls["cublasGemmEx"] == 1
        matmul(xp, a, b)
        assert cublas.library().calls["cublasGemmEx"] == 1
    own.close()


def test_a_status_is_an_error(xp: Any, is_stand_in: bool) -> None:
    if not is_stand_in:
        pytest.skip("only the stand-in fails")
    library = cublas.library()
    library.fails = True
    with pytest.raises(CublasError, match="cublasCreate_v2: status 7"):
        Cublas(xp, 1)
    library.fails = False
    own = Cublas(xp, 1)
    assert len(library.handles) == 1
    own.close()
    assert not library.handles


def test_tf32_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    cublas._factors.cache_clear()
    assert [cublas._factors(c)[1] for c in "efdFD"] == [68, 68, 70, 68, 70]
    cublas._factors.cache_clear()
    monkeypatch.setenv("CUPY_TF32", "1")
    assert [cublas._factors(c)[1] for c in "efdFD"] == [68, 77, 70, 77, 70]
    cublas._factors.cache_clear()


# The library of NVIDIA's wheel, where it is installed: no GPU is needed for these.

_KINDS = {
    **{"int": ctypes.c_int, "cublasOperation_t": ctypes.c_int, "cudaDataType": ctypes.c_int},
    **{"cublasComputeType_t": ctypes.c_int, "cublasGemmAlgo_t": ctypes.c_int, "size_t": ctypes.c_size_t},
    **{
        "cublasHandle_t": ctypes.c_void_p,
        "cudaStream_t": ctypes.c_void_p,
        "long long int": ctypes.c_longlong,
    },
    "cublasHandle_t*": ctypes.POINTER(ctypes.c_void_p),
}


def _wheel() -> Path:
    spec = importlib.util.find_spec("nvidia")
    for place in (spec and spec.submodule_search_locations) or ():
        if Path(place, "cublas", "include", "cublas_api.h").exists():
            return Path(place, "cublas")
    pytest.skip("nvidia-cublas-cu12 is not installed")


def test_the_signatures_are_those_of_the_header() -> None:
    text = Path(_wheel(), "include", "cublas_api.h").read_text()
    for name, wanted in cublas._SIGNATURES.items():
        found = re.search(rf"cublasStatus_t CUBLASWINAPI\s+{name}\(([^)]*)\);", text)
        assert found is not None, name
        kinds = []
        for part in found[1].split(","):
            kind = re.sub(r"\s+", " ", part).strip().rpartition(" ")[0].removeprefix("const ")
            is_address = kind.endswith("*") and kind != "cublasHandle_t*"
            kinds.append(ctypes.c_void_p if is_address else _KINDS[kind])
        assert tuple(kinds) == wanted, name
    for name, value in {
        **{
            "CUBLAS_STATUS_SUCCESS": cublas._SUCCESS,
            "CUBLAS_OP_N": cublas._OP_N,
            "CUBLAS_OP_T": cublas._OP_T,
        },
        **{"CUBLAS_GEMM_DEFAULT": cublas._GEMM_DEFAULT, "CUBLAS_COMPUTE_32F": cublas._COMPUTE_32F},
        "CUBLAS_COMPUTE_32F_FAST_TF32": cublas._COMPUTE_32F_FAST_TF32,
        "CUBLAS_COMPUTE_64F": cublas._COMPUTE_64F,
    }.items():
        assert re.search(rf"\b{name} = {value}\b", text), name


def test_the_library_says_that_there_is_no_device() -> None:
    """It loads without a driver, and its refusal comes with its own words."""
    loaded = cublas.declared(ctypes.CDLL(str(next(Path(_wheel(), "lib").glob("libcublas.so.*")))))
    handle = ctypes.c_void_p()
    status = loaded.cublasCreate_v2(ctypes.byref(handle))
    if status == 0:
        loaded.cublasDestroy_v2(handle)
        pytest.skip("there is a GPU")
    assert loaded.cublasGetStatusString(status) == b"the library was not initialized"
