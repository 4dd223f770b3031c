# On a machine with an NVIDIA GPU and NCCL: right sums with 2 and 8 ranks, whatever the number of GPUs.
#   make CUDA=yes check-gpu, or make CUDA=yes && tests/gpu/nccl.sh [PATH/libnccl.so.2]
# Where the GPUs are fewer than the ranks, ranks share them through sockets: the records say so.
set -u
updraft=${UPDRAFT:-build/updraft}
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
for ranks in 2 8; do
    "$updraft" measure --backend nccl ${1:+--option nccl.lib=$1} --impl nccl/auto --ranks $ranks \
        --sizes 8,1000,43008,64K --iterations 3 --method back_to_back --timeout 120 -o "$dir/$ranks.jsonl"
    code=$?
    [ $code = 5 ] && exit 77
    [ $code = 4 ] && continue # fewer GPUs than ranks, but more than one: NCCL shares none then
    head -n 1 "$dir/$ranks.jsonl"; grep '"what"' "$dir/$ranks.jsonl"
    right=$(grep -c '"verified":true' "$dir/$ranks.jsonl")
    echo "nccl, $ranks ranks: $right of 4 results verified, exit $code"
    [ "$right" = 4 ] && [ $code = 0 ] || exit 1
done
