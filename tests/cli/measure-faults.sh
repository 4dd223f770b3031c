# Whatever one variant does, it is recorded and the campaign goes on.
for fault in hang@1K crash@1K oom@1K fail@1K wrong@1K hang@open crash@open oom@open; do
    echo "== $fault"
    "$UPDRAFT" measure --backend synthetic --impl '*/linear' --ranks 2 --sizes 8,1K,2K --method graph --iterations 5 \
        --option seed=1 --option fault=$fault --timeout 0.2 -o "$fault.jsonl" >/dev/null
    echo "exit $?"
    sed -n 's/.*"state":"\([^"]*\)","note":"\([^"]*\)".*/\1: \2/p' "$fault.jsonl"
    grep -c latency_us "$fault.jsonl"
    # What failed is recorded, so a resumed campaign does not run into it again.
    timeout 10 "$UPDRAFT" measure --backend synthetic --impl '*/linear' --ranks 2 --sizes 8,1K,2K --method graph \
        --iterations 5 --option seed=1 --option fault=$fault --timeout 60 --resume -o "$fault.jsonl" >/dev/null
done
