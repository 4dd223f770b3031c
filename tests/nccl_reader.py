"""An independent, much simpler reader of nccl-tests text, to count rows and compare times.

Prints, for each file named: FILE ROWS SUM_OF_OUT_OF_PLACE_US. A row is a line that holds a size, a
count and a type and then as many values as the tool prints on one side or two (7 to 13 words in
all, by layout); a row whose time is not positive does not count. Milliseconds where the header says
bytes and N. It knows nothing of ranks, collectives or plausibility.
"""
import re
import sys

TYPES = ("float|half|double|bfloat16|int8|uint8|char|int32|uint32|int64|uint64|int|f8e4m3|f8e5m2")
ROW = re.compile(r"(?:^|[\s:>#\]])(\d+)\s+(\d+)\s+(?:" + TYPES + r")\s+(.*)$")


def read(path):
    rows, total, ms = 0, 0.0, False
    for line in open(path, errors="replace"):
        if "algbw" in line and "busbw" in line:
            ms = bool(re.search(r"\bbytes\s+N\b", line))
            continue
        m = ROW.search(line.rstrip())
        if not m:
            continue
        rest = [w for w in m.group(3).split() if w != "|"]
        while rest and re.fullmatch(r"[a-z]+", rest[0]):  # the operation
            rest.pop(0)
        while rest and re.fullmatch(r"-?\d+", rest[0]) and len(rest) in (5, 9):  # the root
            rest.pop(0)
        if len(rest) not in (4, 8):
            continue
        try:
            us = float(rest[0]) * (1000 if ms else 1)
        except ValueError:
            continue
        if us > 0:
            rows += 1
            total += us
    return rows, total


for name in sys.argv[1:]:
    count, us = read(name)
    print(f"{name} {count} {us:.6g}")
