"""Checks the texts of a gnuplot SVG: each inside the picture, and none over another."""
import re
import sys
import xml.etree.ElementTree as ET


def texts(path):
    root = ET.parse(path).getroot()
    _, _, width, height = (float(v) for v in root.get("viewBox").split())
    found = []
    for group in root.iter("{http://www.w3.org/2000/svg}g"):
        place = re.match(r"translate\(([-\d.]+),([-\d.]+)\)(?:\s*rotate\(([-\d.]+)\))?", group.get("transform", ""))
        text = group.find("{http://www.w3.org/2000/svg}text")
        if not place or text is None:
            continue
        size, anchor = float(group.get("font-size")), group.get("text-anchor")
        words = "".join(text.itertext()).rstrip()
        if not words.strip():
            continue
        wide = 0.56 * size * len(words)
        left = {"start": 0, "middle": -wide / 2, "end": -wide}[anchor]
        x, y = float(place[1]), float(place[2])
        box = (left, -0.75 * size, left + wide, 0.2 * size)
        if place[3] and abs(float(place[3])) in (90, 270):
            box = (box[1], -box[2], box[3], -box[0])
        if any(f[4] == words and abs(f[0] - x - box[0]) < 1 and abs(f[1] - y - box[1]) < 1 for f in found):
            continue  # a text with a box is written twice, the second time over the box
        found.append((x + box[0], y + box[1], x + box[2], y + box[3], words))
    return width, height, found


def main():
    bad = 0
    for path in sys.argv[1:]:
        width, height, found = texts(path)
        if len(found) < 4:
            print(f"{path}: only {len(found)} texts")
            bad = 1
        for i, a in enumerate(found):
            if a[0] < -2 or a[1] < -2 or a[2] > width + 2 or a[3] > height + 2:
                print(f"{path}: outside the picture: {a[4]}")
                bad = 1
            for b in found[i + 1:]:
                if min(a[2], b[2]) - max(a[0], b[0]) > 2 and min(a[3], b[3]) - max(a[1], b[1]) > 1.5:
                    print(f"{path}: one over the other: {a[4]!r} and {b[4]!r}")
                    bad = 1
    return bad


sys.exit(main())
