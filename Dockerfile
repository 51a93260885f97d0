# One image for every role: a task of any job, a client's program, a shell.
#
#   docker build -t tensorfleet:0.1.0 .
#   docker build -t tensorfleet:0.1.0-cuda12 --build-arg CUDA=12x .
#
# The base is any image with Python 3.11 to 3.13 as `python`, in Debian's or the official images' layout.
ARG BASE_IMAGE=python:3.12-slim

FROM ${BASE_IMAGE} AS build
WORKDIR /src
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
# No dependency is compiled from source: whatever has no wheel fails here.
ENV PIP_ONLY_BINARY=:all:
COPY requirements.lock requirements-dev.lock requirements-image.lock ./
# The tools that pack the two distributions stay in this stage.
RUN python -m venv --without-pip /tools \
    && python -m pip --python /tools/bin/python install -q -c requirements-dev.lock -r requirements-image.lock
RUN python -m venv --without-pip /opt/tensorfleet \
    && python -m pip --python /opt/tensorfleet/bin/python install -q --no-compile -r requirements.lock \
        -c requirements-dev.lock pillow
# For `tensorfleet submit --requirements`: a wheel that nobody can import by accident.
RUN python -m pip download -q --no-deps -d /opt/tensorfleet/share/tensorfleet \
      "pip==$(python -c 'import pip; print(pip.__version__)')"
# The CUDA version of CuPy's wheel: 12x or 13x. Empty: without CuPy, for CPUs.
ARG CUDA=
ARG CUPY_VERSION=14.2.0
RUN if [ -n "$CUDA" ]; then \
      python -m pip --python /opt/tensorfleet/bin/python install -q --no-compile \
        -c requirements.lock -c requirements-dev.lock "cupy-cuda$CUDA[ctk]==$CUPY_VERSION" nvidia-ml-py; \
    fi
COPY client client
COPY service service
RUN for package in client service; do \
      (cd "$package" && /tools/bin/hatchling build -t wheel -d /wheels >/dev/null) || exit 1; \
    done
# The compiled kernels are optional: where no compiler is to be had, NumPy computes. It stays in this stage.
RUN { command -v cc >/dev/null \
      || { timeout 40 apt-get update -q && timeout 80 apt-get install -q -y --no-install-recommends gcc libc6-dev; } \
           >/dev/null; } \
    && (cd service/kernels_native && /tools/bin/hatchling build -t wheel -d /wheels >/dev/null) \
    || echo "without compiled kernels: no C compiler, or it failed"
RUN python -m pip --python /opt/tensorfleet/bin/python install -q --no-compile --no-deps /wheels/*.whl
# Tests, stubs for type checkers and what links against NumPy serve nobody at run time. Bytecode that is never
# compared with its source makes up for a file system that cannot be written to.
RUN cd /opt/tensorfleet/lib/python3.*/site-packages \
    && find . -type d -name tests -prune -exec rm -rf {} + \
    && find . -type f \( -name '*.pyi' -o -name '*.pxd' -o -name '*.a' -o -name '*.h' -o -name '*.proto' \) \
         -not -path './cupy/*' -not -path './nvidia/*' -delete \
    && rm -rf numpy/f2py numpy/_core/_simd.* numpy/_core/*_tests.*.so \
    # Of Pillow, what decodes other formats than PNG, JPEG, GIF and BMP, draws text, or has a window.
    && rm -f PIL/_avif.* PIL/_webp.* PIL/_imagingft.* PIL/_imagingcms.* PIL/_imagingtk.* \
    && for unused in avif webp sharpyuv freetype harfbuzz brotli lcms2 png16; do \
         rm -f pillow.libs/lib"$unused"*; \
       done \
    && /opt/tensorfleet/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash .

# The base without installers, and without programs that run as another user.
FROM ${BASE_IMAGE} AS files
RUN export PYTHONDONTWRITEBYTECODE=1 \
    && for directory in $(python -c 'import sysconfig; p = sysconfig.get_path; print(p("stdlib"), p("purelib"))'); do \
         for unused in ensurepip idlelib lib2to3 pip pip-* pydoc_data setuptools* tkinter turtledemo wheel*; do \
           rm -rf "$directory"/$unused; \
         done; \
       done \
    && rm -f /usr/local/bin/pip* /usr/local/bin/wheel \
    && find / -xdev -type f -perm /6000 -exec chmod a-s {} + \
    && echo 'tensorfleet:x:10001:10001::/var/lib/tensorfleet:/usr/sbin/nologin' >>/etc/passwd \
    && echo 'tensorfleet:x:10001:' >>/etc/group \
    && install -d -o 10001 -g 10001 /var/lib/tensorfleet
COPY --from=build /opt/tensorfleet /opt/tensorfleet
# The official images ship no bytecode of the standard library: half of a start would be compiling it.
RUN PYTHONDONTWRITEBYTECODE=1 /opt/tensorfleet/bin/python -c 'import sys, py_compile, sysconfig, \
      tensorfleet.cli.main, tensorfleet_service.main, tensorfleet_service.server; \
    root = sysconfig.get_path("stdlib") + "/"; mode = py_compile.PycInvalidationMode.UNCHECKED_HASH; \
    files = {getattr(m, "__file__", None) or "" for m in list(sys.modules.values())}; \
    [py_compile.compile(f, doraise=True, invalidation_mode=mode) \
     for f in files if f.startswith(root) and f.endswith(".py")]'

# What was removed is really gone only if no layer of the base comes along.
FROM scratch
COPY --from=files / /
ARG VERSION=0.1.0
ARG REVISION=
LABEL org.opencontainers.image.title="TensorFleet" \
      org.opencontainers.image.description="A task of a TensorFleet cluster, or a client of one" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# The ports are those that the chart's Services and NetworkPolicy name. Everything can be set otherwise.
ENV PATH=/opt/tensorfleet/bin:/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin \
    LANG=C.UTF-8 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PYTHONNOUSERSITE=1 \
    HOME=/var/lib/tensorfleet \
    TMPDIR=/tmp \
    CUPY_CACHE_DIR=/tmp/cupy \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    TENSORFLEET_STATE_DIR=/var/lib/tensorfleet \
    TENSORFLEET_BIND_HOST=0.0.0.0 \
    TENSORFLEET_STREAM_PORT=2223 \
    TENSORFLEET_METRICS_PORT=8080 \
    TENSORFLEET_LOG_FORMAT=json
WORKDIR /var/lib/tensorfleet
USER 10001:10001
EXPOSE 2222 2223 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["tensorfleet"]
CMD ["serve"]
