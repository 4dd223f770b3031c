# A sweep of a million points with its CSV written.
scenario=$TOP/traces/scenarios/origin.json
for threads in 1 2; do
    start=$(date +%s.%N)
    rows=$("$UPDRAFT" sweep "$scenario" --vary batch=1:100 --vary allreduce.latency_us=0.01:100:0.01 --threads $threads | wc -l)
    end=$(date +%s.%N)
    echo "sweep: $((rows - 1)) points in $(echo "$end - $start" | bc -l 2>/dev/null || python3 -c "print($end - $start)") s with $threads thread(s) (to reach: 2 s on 2)"
done
