# A real campaign on this host's threads: every result verified, every cell there once.
"$UPDRAFT" measure --backend cpu --ranks 2 --sizes 8,1K,14336,64K,1M --method back_to_back,skewed --iterations 10 -o t.jsonl >out 2>err
echo "exit $?"
grep -c '"what":"allreduce".*"verified":true' t.jsonl
grep -c '"state"' t.jsonl
grep -o '"impl":"[^"]*"\|"method":"[^"]*"' t.jsonl | sort | uniq -c | sed 's/^ *//'
for dtype in fp16 fp32; do
    "$UPDRAFT" measure --backend cpu --ranks 2,3,5 --sizes 4,1020,9000 --dtype $dtype --method back_to_back --in-place \
        --iterations 3 --no-probes 2>/dev/null | grep -c '"in_place":1.*"verified":true'
done
# The trace is what fit takes.
"$UPDRAFT" fit t.jsonl --impl cpu/oneshot --json -o m.json; echo "exit $?"
grep -c '"impl":.*"cpu/oneshot"' m.json
