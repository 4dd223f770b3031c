# Where the time goes. $parts: from, to [ms], row (2 plain step, 1 cycle), part, panel (1 whole, 2 per
# token), text; $totals: panel, row, total, low95, high95, text. x_max[panel], row_name[row];
# for terminals part_to[10 (panel - 1) + 5 (row - 1) + part] and total_text[2 (panel - 1) + row].
array part_name[5] = ['draft passes', 'compute', 'allreduces', 'the draft''s collectives', 'host']
array part_color[5] = [green, sky, vermillion, orange, '#A0A0A0']
array part_letter[5] = ['d', '-', 'A', 'a', 'h']
array panel_name[2] = ['one step or cycle of all requests [ms]', 'per token of one request [ms]']
set yrange [0.4 : 2.6]
unset grid
half = 0.34
if (!in_terminal) {
    set ytics (row_name[2] 2, row_name[1] 1) scale 0
    set grid xtics linetype 1 linewidth 0.5 linecolor rgb '#E0E0E0'
    set border 1
    set multiplot layout 2, 1 title head(title, subtitle) noenhanced margins 0.15, 0.97, 0.115, 0.775 spacing 0, 0.19
    x = 0.15
    do for [p = 1:5] {
        set label part_name[p] at screen x, screen 0.845 left textcolor rgb ink point pointtype 5 pointsize 1.5 linecolor rgb part_color[p] offset 1.2, 0
        x = x + 0.055 + 0.0085 * strlen(part_name[p])
    }
    unset key
    do for [panel = 1:2] {
        set xrange [0 : x_max[panel]]
        set xlabel panel_name[panel] offset 0, 0.4
        if (panel == 2) { unset label }
        plot for [p = 1:5] $parts using ($4 == p && $5 == panel ? $1 : NaN):3:1:2:($3-half):($3+half) with boxxyerror linecolor rgb part_color[p] notitle, \
             $parts using ($5 == panel ? ($1 + $2) / 2 : NaN):3:6 with labels textcolor rgb 'black' font small_font noenhanced notitle, \
             $totals using ($1 == panel ? $3 : NaN):2:4:5 with xerrorbars pointtype -1 linewidth 1.5 linecolor rgb ink notitle, \
             $totals using ($1 == panel ? $5 : NaN):2:6 with labels left offset 0.8, 0 textcolor rgb ink noenhanced notitle
    }
    unset multiplot
} else {
    # A bar is its letters: one letter is 1/width of the longest.
    repeat(c, n) = n < 1 ? '' : c . repeat(c, n - 1)
    width = columns - 46
    bars = ''
    set border 0
    unset tics
    unset key
    set title head(title, subtitle) noenhanced
    line = lines - 5
    do for [panel = 1:2] {
        set label panel_name[panel] at character 0, character line left
        line = line - 1
        do for [row = 2:1:-1] {
            bar = ''
            do for [p = 1:5] {
                n = int(part_to[10 * (panel - 1) + 5 * (row - 1) + p] / x_max[panel] * width + 0.5)
                bar = bar . repeat(part_letter[p], n - strlen(bar))
            }
            set label row_name[row] at character 0, character line left noenhanced
            set label bar at character 20, character line left noenhanced
            set label ' ' . total_text[2 * (panel - 1) + row] at character 21 + strlen(bar), character line left noenhanced
            line = line - 1
        }
        line = line - 1
    }
    legend = ''
    do for [p = 1:5] { legend = legend . part_letter[p] . ' ' . part_name[p] . '    ' }
    set label legend at character 0, character line left
    plot [0:1][0:1] -1 notitle
}
