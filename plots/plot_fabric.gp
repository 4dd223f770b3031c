# The box. $links: x, y, x, y of both ends, heat (1 idle to 4 bottleneck), text; $nodes: x, y, kind (1
# GPU, 2 switch, 3 root, 4 socket, 5 memory, 6 NVSwitch), name. capacities; link_text, link_heat.
array heat_color[4] = ['#C8C8C8', sky, orange, vermillion]
array heat_width[4] = [1.5, 3, 4.5, 6]
array heat_name[4] = ['idle', 'below half of the busiest', 'half and more', 'the bottleneck']
array node_shape[6] = [5, 13, 9, 7, 5, 15]
array node_color[6] = [green, '#606060', '#606060', blue, '#A0A0A0', pink]
array node_size[6] = [2.6, 2.0, 1.6, 2.6, 2.0, 2.4]
set title head(title, subtitle) noenhanced
unset tics
unset border
unset grid
# Where along a link its number stands: off the middle, and clear of the GPUs' names below them.
at(ya, yb) = ya < 1 || yb < 1 ? (ya < yb ? 0.58 : 0.42) : 0.4
if (!in_terminal) {
    set xrange [-0.7 : x_max + 0.7]
    set yrange [y_min - 0.75 : y_max + 0.45]
    set key at graph 0.5, graph -0.02 center top horizontal maxrows 2 reverse Left samplen 1.5 width 1
    set bmargin 6.5
    set style textbox opaque noborder fillcolor rgb 'white' margins 0.4, 0.4
    set label capacities at graph 0.5, graph -0.155 center textcolor rgb '#707070' font small_font noenhanced
    set label 'numbers: bytes over the link in its busier direction, in units of the message n' at graph 0.5, graph -0.2 center textcolor rgb '#707070' font small_font
    plot for [h = 1:4] $links using ($5 == h ? $1 : NaN):2:($3 - $1):($4 - $2) with vectors nohead linewidth heat_width[h] linecolor rgb heat_color[h] notitle, \
         for [h = 1:4] NaN with lines linewidth heat_width[h] linecolor rgb heat_color[h] title heat_name[h], \
         $links using ($5 > 1 ? (1 - at($2, $4)) * $1 + at($2, $4) * $3 : NaN):((1 - at($2, $4)) * $2 + at($2, $4) * $4):6 with labels textcolor rgb 'black' font small_font boxed noenhanced notitle, \
         for [k = 1:6] $nodes using ($3 == k ? $1 : NaN):2 with points pointtype node_shape[k] pointsize node_size[k] linecolor rgb node_color[k] notitle, \
         $nodes using ($2 <= 1 ? $1 : NaN):2:4 with labels center offset 0, -1.3 textcolor rgb ink font small_font boxed noenhanced notitle, \
         $nodes using ($2 == 2 ? $1 : NaN):2:4 with labels left offset 1.5, 0.6 textcolor rgb ink font small_font noenhanced notitle, \
         $nodes using ($2 == 3 ? $1 : NaN):2:4 with labels left offset 1.5, -0.3 textcolor rgb ink font small_font noenhanced notitle, \
         $nodes using ($2 == 4 ? $1 : NaN):2:4 with labels left offset 1.2, 0.8 textcolor rgb ink font small_font noenhanced notitle, \
         $nodes using ($2 == 5 ? $1 : NaN):2:4 with labels center offset 0, 1.2 textcolor rgb ink font small_font noenhanced notitle
} else {
    repeat(c, n) = n < 1 ? '' : c . repeat(c, n - 1)
    line = lines - 5
    unset key
    set label 'link                  kind    capacity      to      from   time it is busy' at character 0, character line left
    do for [i = 1:(n_links > 40 ? 40 : n_links)] {
        line = line - 1
        set label link_text[i] . '  ' . repeat('#', int(link_heat[i] * (columns - 64) + 0.5)) at character 0, character line left noenhanced
    }
    line = line - 1
    set label 'to, from: bytes in each direction, in units of the message n' at character 0, character line left
    plot [0:1][0:1] -1 notitle
}
