# No unfinished marks, and no paths of anyone's machine, in what is tracked.
bad=0
files=$(git ls-files 2>/dev/null | grep -vE '^(tests/lint/unfinished\.sh|LICENSE)$|\.expect$|^tests/fuzz/corpus/')
[ -n "$files" ] || files=$(ls ./*.c ./*.def Makefile README.md docs/* model/* traces/*.[ch] plots/* measure/* kernels/* 2>/dev/null)
text=$(for f in $files; do [ -f "$f" ] && grep -Iq . "$f" && echo "$f"; done)
hits=$(grep -nwE 'TODO|FIXME|TBD|XXX|HACK|WIP' $text)
[ -z "$hits" ] || { echo "unfinished:"; echo "$hits"; bad=1; }
hits=$(grep -niE 'not (yet )?implemented|unimplemented|lorem ipsum' $text)
[ -z "$hits" ] || { echo "unfinished:"; echo "$hits"; bad=1; }
hits=$(grep -nE '(^|[^A-Za-z0-9_.])/(work|home|Users)/' $text)
[ -z "$hits" ] || { echo "a path of one machine:"; echo "$hits"; bad=1; }
exit $bad
