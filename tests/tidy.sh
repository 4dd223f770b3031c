#!/usr/bin/env bash
# Static checks: clang-tidy over every C file (or those named as arguments).
# Ends with the line "N passed, N failed". exit 77 where the tools are not installed.
set -u
cd "$(dirname "$0")/.."
for tool in clang-tidy; do
    command -v $tool >/dev/null || { echo "$tool is not installed: apt-get install clang-tidy"; exit 77; }
done
files=$*
[ -n "$files" ] || files=$(ls *.c model/*.[ch] traces/*.[ch] plots/*.[ch] measure/*.[ch] kernels/*.h tests/*.[ch] tests/unit/*.c tests/fuzz/*.c bench/*.c 2>/dev/null)
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT
one() { # file
    log=$tmp/$(echo "$1" | tr / _)
    case $1 in *.h) return;; esac
    flags="-std=c11 -I. -D_GNU_SOURCE -DDATADIR=\"x\""
    case $1 in
        measure/cuda_*|measure/nccl_*)
            [ -e "${CUDA_HOME:-/usr/local/cuda}/include/cuda_runtime_api.h" ] || return
            flags="$flags -DHAVE_CUDA -isystem ${CUDA_HOME:-/usr/local/cuda}/include";;
    esac
    clang-tidy --quiet "$1" -- $flags >"$log" 2>/dev/null || { touch "$log.bad"; grep -E 'error:|warning:' "$log" | sed "s#$PWD/##"; }
}
export -f one; export tmp
echo "$files" | tr ' ' '\n' | xargs -P "$(nproc)" -I{} bash -c 'one {}'
total=$(echo $files | wc -w) bad=$(ls "$tmp" | grep -c '\.bad$')
echo "$((total - bad)) passed, $bad failed"
[ "$bad" = 0 ]
