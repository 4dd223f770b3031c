# The completion script offers what the program has.
. "$TOP/docs/completion.bash"
offer() { # words of a command line; the last is being completed
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _updraft "$UPDRAFT"
    echo "${COMPREPLY[*]}"
}
offer updraft simu
offer updraft plot br
offer updraft simulate --se
offer updraft help sw
[ "$(offer updraft "" | wc -w)" -gt 8 ] && echo "all commands"
touch x.json
offer updraft simulate x.
