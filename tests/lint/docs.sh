# Every page of docs/ stands in its index, and every relative link of a page leads somewhere.
bad=0
say() { echo "$*"; bad=1; }
for page in docs/*.md; do
    name=$(basename "$page")
    [ ! -e docs/README.md ] || [ "$name" = README.md ] || grep -q "]($name)" docs/README.md || say "docs/README.md does not list $name"
done
for page in README.md CONTRIBUTING.md docs/*.md; do
    [ -e "$page" ] || continue
    dir=$(dirname "$page")
    for link in $(grep -oE '\]\([^)# ]+' "$page" | sed 's/^](//' | grep -vE '^[a-z]+:'); do
        [ -e "$dir/$link" ] || say "$page: link to $link leads nowhere"
    done
done
if command -v mandoc >/dev/null 2>&1; then
    hits=$(mandoc -T lint -W warning docs/updraft.1 2>&1)
    [ -z "$hits" ] || say "$hits"
fi
exit $bad
