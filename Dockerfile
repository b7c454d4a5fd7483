# docker build -t commbounds . && docker run --rm -v "$PWD:/work" commbounds check mine.py:subject
FROM python:3.13-slim
COPY . /source
RUN python -m pip install --no-cache-dir /source && rm -rf /source && useradd --create-home user
USER user
WORKDIR /work
ENTRYPOINT ["commbounds"]
