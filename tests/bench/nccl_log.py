"""Writes an nccl-tests log of about SIZE megabytes (default 100) to standard output: many runs of
all_reduce_perf, 29 rows each, times that agree with their bandwidths, from a fixed seed."""
import random
import sys


def number(x, width):
    power, limit = 0, 1
    while x >= limit:
        power += 1
        limit *= 10
    decimals = 2 if power < width - 2 else 1 if power < width - 1 else 0
    return f"{x:{width}.{decimals}f}"


def run(rng):
    out = [
        "# nThread 1 nGpus 8 minBytes 8 maxBytes 2147483648 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0",
        "#", "# Using devices"]
    for r in range(8):
        out.append(f"#  Rank {r:2d} Group  0 Pid {4000 + r:6d} on      bench device {r:2d} [0x{16 * r + 1:02x}] Example GPU 9")
    out += ["#",
            "#                                                              out-of-place                       in-place          ",
            "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong",
            "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       "]
    for k in range(3, 32):
        size = 2 ** k
        row = f"{size:12d}  {size // 4:12d}     float     sum      -1"
        for _ in range(2):
            us = (25 + size / 20e3) * rng.uniform(0.97, 1.03)
            alg = size / us / 1e3
            row += f"  {number(us, 7)}  {alg:6.2f}  {alg * 1.75:6.2f}      0"
        out.append(row)
    out += ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 12.3456 ", "#", ""]
    return "\n".join(out)


rng = random.Random(1)
runs = [run(rng) for _ in range(200)]
want, wrote, i = int(sys.argv[1] if len(sys.argv) > 1 else 100) * 1000000, 0, 0
while wrote < want:
    text = runs[i % len(runs)]
    sys.stdout.write(text + "\n")
    wrote += len(text) + 1
    i += 1
