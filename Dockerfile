# SPDX-License-Identifier: Apache-2.0
# An image with the command partita and the Python package:
#   docker build -t partita . && docker run --rm --shm-size=1g partita doctor
# The packages are those of `tools/install.sh python`; tests/scripts/package.sh compares them.
FROM debian:12-slim AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends \
    g++ cmake ninja-build pkg-config libfmt-dev libcli11-dev nlohmann-json3-dev libdnnl-dev \
    zlib1g-dev liblzma-dev libzip-dev libturbojpeg0-dev libpng-dev libxxhash-dev libtomlplusplus-dev libpcre2-dev libutf8proc-dev libsentencepiece-dev libprotobuf-dev libopenmpi-dev openmpi-bin \
    python3 python3-dev python3-numpy pybind11-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*
COPY . /source
WORKDIR /source
RUN cmake --preset release -DPARTITA_TESTS=OFF -DPARTITA_BENCH=OFF -DPARTITA_PYTHON=ON \
    && cmake --build --preset release --target partita partita_python \
    && mkdir -p /opt/partita/bin /opt/partita/python \
    && cp build/release/partita build/release/libpartita_sentencepiece.so /opt/partita/bin/ \
    && cp -rL build/release/python/partita /opt/partita/python/

FROM debian:12-slim
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends \
    libfmt9 libdnnl2 libtomlplusplus3 libgomp1 zlib1g liblzma5 libzip4 libturbojpeg0 libpng16-16 libprotobuf-lite32 libpcre2-8-0 libutf8proc2 libsentencepiece0 openmpi-bin openssh-client python3 python3-numpy python3-jinja2 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/partita /opt/partita
ENV PATH=/opt/partita/bin:$PATH PYTHONPATH=/opt/partita/python
# Open MPI refuses root, the user of a container, without these.
ENV OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ENTRYPOINT ["partita"]
CMD ["doctor"]
