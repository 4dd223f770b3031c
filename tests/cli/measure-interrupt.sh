# Ctrl-C: the trace is valid, says so, and --resume finishes it.
set -m # or the shell lets its background jobs ignore SIGINT
run() { exec "$UPDRAFT" measure --backend synthetic --impl '*/linear' --ranks 2 --sizes 8,1K,2K --method graph \
    --iterations 5 --option seed=1 --option sleep_ms=200 "$@"; }
(run -o t.jsonl >/dev/null 2>err) & pid=$!
while ! grep -q latency_us t.jsonl 2>/dev/null; do sleep 0.02; done
kill -INT $pid; wait $pid; echo "exit $?"
tail -n 1 err
n=$(grep -c latency_us t.jsonl)
[ "$n" -ge 1 ] && [ "$n" -le 2 ] && echo "some results"
tail -n 1 t.jsonl | grep -o '"left":[12],'  | tr 12 NN
(run --resume -o t.jsonl >/dev/null 2>&1); echo "exit $?"
grep -c latency_us t.jsonl
grep -o '"size_bytes":[0-9]*' t.jsonl
