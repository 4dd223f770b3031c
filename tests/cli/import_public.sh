# Every public nccl-tests output: as many rows, and the same times, as an independent reader counts;
# where that finds none, an error that names a line.
[ -n "$SHARED_DATA" ] || { echo "no public data"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
for f in "$SHARED_DATA"/nccl-tests/*.txt; do
    name=$(basename "$f")
    "$UPDRAFT" import "$f" >"$name.trace" 2>"$name.errors"
    echo $? >"$name.code"
done
python3 "$TOP/tests/nccl_reader.py" "$SHARED_DATA"/nccl-tests/*.txt >counts
python3 - counts <<'PY'
import json, os, re, sys
bad = files = 0
for text in open(sys.argv[1]):
    path, rows, us = text.split()
    name = os.path.basename(path)
    files += 1
    code = open(name + ".code").read().strip()
    if rows == "0":
        last = (open(name + ".errors").read().splitlines() or [""])[-1]
        if code != "3" or not re.search(re.escape(path) + r":\d+: ", last):
            print(f"{name}: exit {code}, {last}")
            bad = 1
        continue
    lines, total = set(), 0.0
    for record in map(json.loads, open(name + ".trace")):
        if "what" in record:
            lines.add(record["line"])
            total += 0 if record.get("in_place") else record["latency_us"]
    got = f"{len(lines)} {total:.6g}"
    if code != "0" or got != f"{rows} {us}":
        print(f"{name}: exit {code}, {got} instead of {rows} {us}")
        bad = 1
if files < 30:
    print(f"only {files} files")
elif not bad:
    print("all agree")
PY
