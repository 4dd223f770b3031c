#!/bin/sh
# The tables of docs/kernels.md, from a trace that `updraft measure --plan full` wrote on one GPU:
#   sh kernels/table.sh [TRACE]
# First the allreduce kernels by size (graph of 122 calls, microseconds, blocks x threads of the winner),
# then what the same trace's probes say is the least that a call can take.
trace=${1:-traces/recorded/h200_1gpu.jsonl}
awk '
function text(key,   m) {
    return match($0, "\"" key "\":\"[^\"]*\"") ? substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 5) : ""
}
function number(key,   m) {
    return match($0, "\"" key "\":[-0-9.e+]*") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0 : ""
}
/"what":"allreduce"/ && text("method") == "graph" && text("dtype") == "bf16" {
    impl = text("impl"); ranks = number("ranks"); size = number("size_bytes")
    us[impl, ranks, size] = number("latency_us")
    grid[impl, ranks, size] = number("blocks") "x" number("threads")
    if (!(impl in seen)) { seen[impl] = 1; impls[++n] = impl }
    if (number("wrong") > 0) wrong++
}
/"what":"p2p_write_latency"/ { flag[text("placement")] = number("latency_us") }
/"what":"node_gap"/ { node[text("method"), number("ranks"), number("blocks"), number("size_bytes")] = number("latency_us") }
/"what":"bandwidth"/ { bw[text("placement"), text("method"), number("blocks")] = number("bw_gb_per_s") }
function row(name, impl, size, nodes, hop, hops, stores, sbw, loads, lbw, copied,   floor, floor2) {
    floor = nodes + hops * hop + stores / sbw / 1e3 + loads / lbw / 1e3
    printf "| %s, %d bytes | %.2f | %d x %.2f | %.2f | **%.2f** | %.2f | %.2f |", impl, size, nodes, hops, hop, stores / sbw / 1e3 + loads / lbw / 1e3, floor, us[impl, 8, size], us[impl, 8, size] / floor
    if (copied != "") printf " %.2f |", us[impl, 8, size] / (floor - nodes + copied)
    else printf " |"
    printf "\n"
}
END {
    m = split("8 1024 8192 14336 43008 131072 1048576", sizes, " ")
    for (ranks = 2; ranks <= 8; ranks *= 2) {
        printf "\n%d ranks\n\n| us |", ranks
        for (s = 1; s <= m; s++) printf " %d |", sizes[s]
        printf "\n| --- |"
        for (s = 1; s <= m; s++) printf " --: |"
        printf "\n"
        for (i = 1; i <= n; i++) {
            if (impls[i] !~ /^(custom|host)\//) continue
            printf "| %s |", impls[i]
            for (s = 1; s <= m; s++) {
                k = impls[i] SUBSEP ranks SUBSEP sizes[s]
                printf (k in us) ? " %.*f (%s) |" : " |", us[k] < 100 ? 2 : 0, us[k], grid[k]
            }
            printf "\n"
        }
    }
    N = 8; size = 43008; shards = (N - 1) * size # of all ranks together: N ranks x (N - 1) / N x size
    ds = bw["0>0", "stores", 64]; dl = bw["0>0", "loads", 64]; hb = bw["0>host", "stores and loads", 8]
    printf "\n8 ranks against the floor\n\n| | empty node | flags, one way | bytes | floor | measured | ratio | ratio with a copying node |\n| --- | --: | --: | --: | --: | --: | --: | --: |\n"
    row("", "custom/oneshot", 8, node["empty", 8, 1, 0], flag["0>0"], 1, 0, 1, 0, 1, node["local copy", 8, 1, 16])
    row("", "custom/twoshot", size, node["empty", 8, 16, 0], flag["0>0"], 2, 2 * shards, ds, 2 * shards, dl, node["local copy", 8, 16, 43008])
    row("", "custom/oneshot", size, node["empty", 8, 16, 0], flag["0>0"], 1, N * shards, ds, N * shards, dl, node["local copy", 8, 16, 43008])
    row("", "host/oneshot", size, node["empty", 8, 16, 0], flag["0>host"], 1, N * size, hb, N * shards, hb, "")
    row("", "host/twoshot", size, node["empty", 8, 16, 0], flag["0>host"], 2, shards + size, hb, 2 * shards, hb, "")
    printf "\nstores %.0f GB/s, loads %.0f GB/s within the GPU (64 blocks); %.1f GB/s both ways together through the host (8 blocks)\n", ds, dl, hb
    if (wrong) printf "%d results are wrong\n", wrong
}' "$trace"
