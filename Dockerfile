# An image whose first fit compiles nothing:
#   docker build -t streamnb .
#   docker run --rm --user "$(id -u)" -v "$PWD:/data" streamnb fit train.parquet --y label -o model.snb
# With --user it may write where you may; without it, it is nobody and can only read the folder.
FROM python:3.12-slim AS build
RUN pip install --no-cache-dir build
COPY . /source
RUN python -m build --wheel --outdir /wheel /source

FROM python:3.12-slim
# Kernels are compiled for one kind of processor. "generic" runs on every one, with some slower loops;
# --build-arg CPU=skylake-avx512, or another name of LLVM's, is faster where all machines are of that kind.
ARG CPU=generic
ENV NUMBA_CACHE_DIR=/opt/kernels NUMBA_CPU_NAME=${CPU} HOME=/tmp
COPY --from=build /wheel /wheel
RUN pip install --no-cache-dir "$(echo /wheel/*.whl)[cli,tables,cells,report,s3]" && rm -r /wheel \
    && streamnb warm && chmod -R a+rX /opt/kernels
WORKDIR /data
USER nobody
ENTRYPOINT ["streamnb"]
