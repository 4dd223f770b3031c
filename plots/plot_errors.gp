# Relative errors by table. $cases and $medians: error %, row, who (1 updraft, 2 the naive formula);
# arrays of n_tables: name, detail, median_text, p90_text, naive_text, formula.
array who_color[2] = [blue, orange]
array who_name[2] = ['updraft', 'naive formula']
set title head(title, subtitle) noenhanced
unset grid
if (!in_terminal) {
    set logscale x 10
    set xrange [0.1 : 300]
    set yrange [0.4 : n_tables + 0.6]
    set xtics ('0.1' 0.1, '0.3' 0.3, '1' 1, '3' 3, '10' 10, '30' 30, '100' 100, '300' 300) nomirror
    set xlabel 'relative error [%]; the tall marks are medians'
    set border 1
    unset ytics
    unset key
    left = 0.012; chart = 0.30; right = 0.70
    c1 = 0.715; c2 = 0.795; c3 = 0.875
    set lmargin at screen chart
    set rmargin at screen right
    set tmargin 4
    set bmargin 5.5
    set grid xtics linetype 1 linewidth 0.5 linecolor rgb '#E0E0E0'
    do for [i = 1:n_tables] {
        y = n_tables + 1 - i
        set label name[i] at screen left, first y + 0.15 left noenhanced
        set label detail[i] at screen left + 0.012, first y - 0.36 left textcolor rgb '#707070' noenhanced font tiny_font
        set label median_text[i] at screen c1, first y + 0.15 left textcolor rgb who_color[1] noenhanced
        set label p90_text[i] at screen c2, first y + 0.15 left textcolor rgb who_color[1] noenhanced
        set label naive_text[i] at screen c3, first y + 0.15 left textcolor rgb '#9A6A00' noenhanced
        if (i < n_tables) { set arrow from screen left, first y - 0.55 to screen 0.99, first y - 0.55 nohead linewidth 0.5 linecolor rgb '#DCDCDC' back }
    }
    set label 'median' at screen c1, graph 1 left offset 0, 0.6 textcolor rgb '#707070' font tiny_font
    set label '90 %' at screen c2, graph 1 left offset 0, 0.6 textcolor rgb '#707070' font tiny_font
    set label 'naive median' at screen c3, graph 1 left offset 0, 0.6 textcolor rgb '#707070' font tiny_font
    x = chart
    do for [w = 1:2] {
        set label who_name[w] at screen x, screen 0.03 left textcolor rgb ink point pointtype 7 pointsize 0.9 linecolor rgb who_color[w] offset 1, 0
        x = x + 0.12
    }
    plot for [w = 1:2] $cases using ($3 == w ? $1 : NaN):2 with points pointtype 7 pointsize 0.35 linecolor rgb who_color[w], \
         for [w = 1:2] $medians using ($3 == w ? $1 : NaN):($2 - 0.17):(0):(0.34) with vectors nohead linewidth 3 linecolor rgb who_color[w]
} else {
    repeat(c, n) = n < 1 ? '' : c . repeat(c, n - 1)
    fit(text, n) = strlen(text) > n ? text[1:n - 1] . '~' : text . repeat(' ', n - strlen(text))
    unset tics
    unset border
    unset key
    line = lines - 5
    set label fit('table', 44) . fit('median', 10) . fit('90 %', 10) . fit('naive median', 14) . 'naive formula' at character 0, character line left
    do for [i = 1:n_tables] {
        line = line - 1
        set label fit(name[i], 43) . ' ' . fit(median_text[i], 10) . fit(p90_text[i], 10) . fit(naive_text[i], 14) . fit(formula[i], columns - 82) at character 0, character line left noenhanced
        line = line - 1
        set label '  ' . fit(detail[i], columns - 4) at character 0, character line left noenhanced
    }
    plot [0:1][0:1] -1 notitle
}
