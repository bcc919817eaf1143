#!/usr/bin/env python3
"""Makes fashion-mnist-7k.bin.gz from the Debian package dataset-fashion-mnist.

Content, after gzip: the first 6,000 training and the first 1,000 test images of Fashion-MNIST, each 784 bytes (28 x 28,
row by row), then the 7,000 labels, one byte each. The original order is shuffled already, so the first images are a fair
sample. Deterministic: the same input gives the same bytes.
"""
import gzip
import io
import pathlib

SOURCE = pathlib.Path("/usr/share/datasets/fashion-mnist")
HERE = pathlib.Path(__file__).parent
SETS = (("train", 6000), ("t10k", 1000))

pixels, labels = b"", b""
for name, count in SETS:
    pixels += gzip.open(SOURCE / f"{name}-images-idx3-ubyte.gz").read()[16 : 16 + 784 * count]
    labels += gzip.open(SOURCE / f"{name}-labels-idx1-ubyte.gz").read()[8 : 8 + count]
assert len(pixels) == 7000 * 784 and len(labels) == 7000
buffer = io.BytesIO()
with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=9, mtime=0) as out:
    out.write(pixels + labels)
(HERE / "fashion-mnist-7k.bin.gz").write_bytes(buffer.getvalue())
print(len(buffer.getvalue()), "bytes")
