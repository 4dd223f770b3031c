# What a file may be, standard input and a pipe may be: a trace, a model, a fabric, a table.
S=$TOP/traces/scenarios/origin.json
T=$TOP/traces/recorded/rtx_pro_6000_8gpu_switches.jsonl
cat >runs.csv <<'C'
concurrency,num_spec_tokens,base_tok_s,spec_tok_s
1,2,86,117
2,2,145,175
C
"$UPDRAFT" fit "$T" --json >model.json && "$UPDRAFT" crossover epyc-2s --params --json >fabric.json || exit
same() { # FILE COMMAND...: @ stands for the file, for "-" and for a pipe's name
    file=$1
    shift
    "$UPDRAFT" "${@//@/$file}" >by_name 2>/dev/null || echo "fails by name"
    cat "$file" | "$UPDRAFT" "${@//@/-}" >by_stdin || echo "fails from a pipe"
    "$UPDRAFT" "${@//@/-}" <"$file" >by_redirection || echo "fails from a redirection"
    "$UPDRAFT" "${@//@//dev/fd/9}" 9< <(cat "$file") >by_fd || echo "fails from /dev/fd"
    for got in by_stdin by_redirection by_fd; do
        sed "s#standard input#$file#g; s#/dev/fd/9#$file#g; s#\"-\"#\"$file\"#" $got | grep -v requests, | cmp -s - <(grep -v requests, by_name) || echo "$got differs"
    done
    echo "$*"
}
same model.json predict @ --impl nccl/ring/ll --bytes 43008
same "$T" predict @ --impl nccl/ring/ll --bytes 43008
same model.json simulate "$S" --costs @
same "$T" simulate "$S" --costs @
same model.json crossover @
same "$T" crossover @
same fabric.json crossover @
same fabric.json predict --fabric @ --impl custom/twoshot --bytes 43008 --ranks 8
same runs.csv calibrate "$S" --with @
python3 -c 'import json; json.dump(json.load(open("model.json")), open("sorted.json", "w"), sort_keys=True, indent=1)'
"$UPDRAFT" predict sorted.json --impl nccl/ring/ll --bytes 43008 | cmp - <("$UPDRAFT" predict model.json --impl nccl/ring/ll --bytes 43008) && echo "a model with its keys in another order"
