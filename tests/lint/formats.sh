# docs/trace-format.md lists every kind of measurement and every number; docs/importing.md and the manual
# every format.
bad=0
say() { echo "$*"; bad=1; }
for id in $(sed -n 's/^WHAT(\([a-z0-9_]*\).*/\1/p' model/what.def) $(sed -n 's/^FIELD(\([a-z0-9_]*\).*/\1/p' model/fields.def); do
    grep -q "^| \`$id\` |" docs/trace-format.md || say "docs/trace-format.md has no row for $id"
done
for f in traces/import_*.c; do
    name=$(sed -n 's/^    \.name = "\([^"]*\)",$/\1/p' "$f")
    [ -n "$name" ] || { say "$f: no .name"; continue; }
    grep -q "^| \`$name\` |" docs/importing.md || say "docs/importing.md has no row for $name"
    sed 's/\\-/-/g' docs/updraft.1 | grep -q "$name" || say "docs/updraft.1 does not name the format $name"
done
exit $bad
