# Importing a large nccl-tests log: wall time and greatest memory, from a file to a file.
set -eu
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT
python3 "$TOP/tests/bench/nccl_log.py" 100 >"$tmp/log.txt"
one() { # name, file
    best=
    for _ in 1 2 3; do
        line=$(python3 - "$UPDRAFT" "$2" "$tmp/out" <<'PY'
import resource, subprocess, sys, time
start = time.time()
with open(sys.argv[3], "wb") as out:
    subprocess.run([sys.argv[1], "import", sys.argv[2]], stdout=out, stderr=subprocess.DEVNULL, check=True)
print(f"{time.time() - start:.3f} {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.1f}")
PY
)
        if [ -z "$best" ] || [ "${line%% *}" \< "${best%% *}" ]; then best=$line; fi
    done
    echo "import $1: ${best%% *} s wall (best of 3), ${best##* } MiB, $(wc -l <"$tmp/out") lines out"
}
head -c 10000000 "$tmp/log.txt" >"$tmp/log10.txt"
one "10 MB nccl-tests log" "$tmp/log10.txt"
one "100 MB nccl-tests log" "$tmp/log.txt"
