# Bash completion of updraft. Commands, options and kinds of plot come from the program itself, so
# there is no second list to keep.
_updraft() {
    local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words
    if [ "$COMP_CWORD" = 1 ]; then
        words="help --version $("$1" help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p')"
    elif [ "$command" = help ]; then
        words=$("$1" help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p')
    elif [[ $cur == -* ]]; then
        words="-o $("$1" help "$command" 2>/dev/null | sed -n 's/^  \(--[a-z-]*\).*/\1/p')"
    elif [ "$command" = plot ] && [ "$COMP_CWORD" = 2 ]; then
        words=$("$1" plot --list 2>/dev/null | sed 's/ .*//')
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o filenames -F _updraft updraft
