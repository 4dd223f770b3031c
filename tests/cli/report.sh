# slow
# One page with everything, loading nothing; a failure leaves the file untouched.
command -v gnuplot >/dev/null || { echo "gnuplot is not installed"; exit 77; }
scenario=$TOP/traces/scenarios/origin.json
"$UPDRAFT" report "$scenario" -o page.html || exit
"$UPDRAFT" report "$scenario" -o again.html && cmp page.html again.html && echo "the same bytes again"
python3 - <<'P'
import re
from html.parser import HTMLParser

VOID = {"meta", "br", "link", "img", "hr", "input", "path", "use", "rect", "line", "circle"}
page = open("page.html", encoding="utf-8").read()


class Check(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        for key, value in attrs:
            if key == "id":
                self.ids.append(value)
            if key in ("src", "href", "xlink:href") and not value.startswith("#"):
                print("loads", value)
        if tag in ("script", "link", "img", "iframe", "object"):
            print("has a", tag)

    def handle_endtag(self, tag):
        if tag not in VOID and (not self.open or self.open.pop() != tag):
            print("badly nested:", tag)

    def handle_data(self, data):
        self.text.append(data)


c = Check()
c.feed(page)
print("left open:", c.open)
twice = {i for i in c.ids if c.ids.count(i) > 1}
print("ids given twice:", sorted(twice))
print("figures:", [i for i in c.ids if i in ("rank", "draft", "breakdown", "count", "latency")])
text = " ".join(c.text)
for need in ("Do first:", "Measure next:", "Predicted against measured", "assumed", "tokens/s", "What this rests on"):
    print(need, need in text)
print("urls in style:", re.findall(r"url\((?!#|'#|\"#)[^)]*\)", page)[:3])
P
echo whole >kept.html
"$UPDRAFT" report no-such.json -o kept.html; echo "exit $?"
"$UPDRAFT" report "$scenario" --json; echo "exit $?"
PATH=/nonexistent "$UPDRAFT" report "$scenario" -o kept.html; echo "exit $?"
"$UPDRAFT" report "$scenario" -o no-such-folder/page.html; echo "exit $?"
cat kept.html
ls kept.html*
echo "--- text from the file stays text"
sed 's/"title": "[^"]*"/"title": "<script>alert(1)<\/script> \& <b>"/' "$scenario" >evil.json
sed -i "s#\.\./recorded#$TOP/traces/recorded#" evil.json
"$UPDRAFT" report evil.json -o evil.html && grep -c '<script>\|<b>' evil.html
