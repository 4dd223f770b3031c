# slow
# kill -9 at 50 random moments, each time resumed: no record lost, none twice.
run() { exec "$UPDRAFT" measure --backend cpu --ranks 2 --sizes 8,64,512,1K,2K,4K,8K,14336,16K,28672,43008,64K,86016,128K,256K \
    --method back_to_back,skewed --iterations 20 --no-probes --seed 3 --resume -o "$1" >/dev/null 2>>"log"; }
RANDOM=1 kills=0 file=0 lost=0
while [ $kills -lt 50 ]; do
    file=$((file + 1)) t=t$file.jsonl
    : >before
    while [ $kills -lt 50 ]; do
        (run $t) & pid=$!
        sleep 0.$(printf %03d $((RANDOM % 180)))
        if ! kill -9 $pid 2>/dev/null; then wait $pid; break; fi
        wait $pid 2>/dev/null; kills=$((kills + 1))
        # What was whole before is still the beginning of the file, byte for byte.
        head -c "$(stat -c %s before)" $t 2>/dev/null | cmp -s - before || lost=$((lost + 1))
        python3 - $t before <<'P'
import sys
data = open(sys.argv[1], 'rb').read() if __import__('os').path.exists(sys.argv[1]) else b''
open(sys.argv[2], 'wb').write(data[:data.rfind(b'\n') + 1])
P
    done
    (run $t) || echo "the resumed campaign failed: $(tail -n 1 log)"
    head -c "$(stat -c %s before)" $t | cmp -s - before || lost=$((lost + 1))
    python3 - $t <<'P'
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
keys = [tuple(r.get(k) for k in ('what', 'impl', 'ranks', 'dtype', 'method', 'size_bytes', 'skew_us'))
        for r in lines if 'what' in r]
if len(keys) != len(set(keys)): print('records twice:', len(keys) - len(set(keys)))
if len(keys) != 2 * 15 * 3: print('records:', len(keys))
P
done
echo "$kills kills, $lost times a record was lost"
