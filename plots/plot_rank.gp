# The priority ranking, one band of the picture per option, best at the top. Arrays of n_options:
# name, gain_text, days_text, per_day_text, best_text, remark, is_blocked, has_bar; gain, low95, high95 [%] and
# status (1 worth doing, 2 its interval holds zero, 3 harmful, 4 blocked) by option. x_min, x_max.
array status_color[4] = [blue, orange, vermillion, grey]
array status_shape[4] = [7, 6, 5, 3]
array status_letter[4] = ['o', '?', 'x', 'B']
array status_name[4] = ['worth doing', 'not told from nothing', 'harmful', 'blocked']
axis_name = 'gain in throughput over today [%], with its 95 % interval'
set title head(title, subtitle) noenhanced
unset ytics
unset grid
if (!in_terminal) {
    set yrange [0.3 : n_options + 0.5]
    set xrange [x_min : x_max]
    set border 1
    set format x '%+g'
    set xtics add ('0' 0)
    set xlabel axis_name
    left = 0.012; chart = 0.36; right = 0.69
    c1 = 0.70; c2 = 0.775; c3 = 0.845; c4 = 0.935
    set lmargin at screen chart
    set rmargin at screen right
    set tmargin 4
    set bmargin 6.5
    do for [i = 1:n_options] {
        y = n_options + 1 - i
        shade = is_blocked[i] ? '#808080' : 'black'
        set label name[i] at screen left, first y + 0.12 left textcolor rgb shade noenhanced
        set label gain_text[i] at screen c1, first y + 0.12 left textcolor rgb shade noenhanced
        set label days_text[i] at screen c2, first y + 0.12 left textcolor rgb shade noenhanced
        set label per_day_text[i] at screen c3, first y + 0.12 left textcolor rgb shade noenhanced
        set label best_text[i] at screen c4, first y + 0.12 left textcolor rgb shade noenhanced
        if (strlen(remark[i]) > 0) { set label remark[i] at screen left + 0.012, first y - 0.30 left textcolor rgb '#707070' noenhanced font tiny_font }
        if (i < n_options) { set arrow from screen left, first y - 0.5 to screen 0.99, first y - 0.5 nohead linewidth 0.5 linecolor rgb '#DCDCDC' back }
    }
    set label 'option' at screen left, graph 1 left offset 0, 0.6 textcolor rgb '#707070' font tiny_font
    set label 'gain' at screen c1, graph 1 left offset 0, 0.6 textcolor rgb '#707070' font tiny_font
    set label 'days' at screen c2, graph 1 left offset 0, 0.6 textcolor rgb '#707070' font tiny_font
    set label 'gain/day' at screen c3, graph 1 left offset 0, 0.6 textcolor rgb '#707070' font tiny_font
    set label 'P(best)' at screen c4, graph 1 left offset 0, 0.6 textcolor rgb '#707070' font tiny_font
    set arrow from 0, graph 0 to 0, graph 1 nohead linewidth 1 linecolor rgb '#A8A8A8' back
    unset key
    x = 2
    do for [s = 1:4] {
        if (status_count[s] > 0) {
            set label status_name[s] at character x, character 1.2 left textcolor rgb ink point pointtype status_shape[s] pointsize 1.2 linewidth 2 linecolor rgb status_color[s] offset 1.2, 0
            x = x + 6 + strlen(status_name[s])
        }
    }
    plot for [i = 1:n_options] '+' using (has_bar[i] ? gain[i] : NaN):(n_options + 1.12 - i):(low95[i]):(high95[i]) every ::::0 with xerrorbars pointtype -1 linewidth 2.5 linecolor rgb status_color[status[i]], \
         for [i = 1:n_options] '+' using (has_bar[i] ? gain[i] : NaN):(n_options + 1.12 - i) every ::::0 with points pointtype status_shape[status[i]] pointsize 1.2 linewidth 2 linecolor rgb status_color[status[i]]
} else {
    # A bar is text: the interval in dashes, zero as a line, the gain as its status' letter.
    repeat(c, n) = n < 1 ? '' : c . repeat(c, n - 1)
    put(text, at, c) = at < 1 || at > strlen(text) ? text : text[1:at - 1] . c . text[at + 1:strlen(text)]
    title_width = columns < 106 ? 34 : 46
    wide = columns - title_width - 42
    wide = wide < 16 ? 16 : (wide > 60 ? 60 : wide)
    at(x) = int((x < x_min ? 0 : x > x_max ? 1 : (x - x_min) / (x_max - x_min)) * (wide - 1) + 1.5)
    fit(text, n) = strlen(text) > n ? text[1:n - 1] . '~' : text . repeat(' ', n - strlen(text))
    set border 0
    unset xtics
    unset key
    line = lines - 5
    set label fit('option', title_width) . fit('gain [%], 95 %', wide + 2) . fit('gain', 10) . fit('days', 9) . fit('gain/day', 11) . 'P(best)' at character 0, character line left
    do for [i = 1:n_options] {
        line = line - 1
        bar = repeat(' ', wide)
        if (has_bar[i]) { do for [k = at(low95[i]):at(high95[i])] { bar = put(bar, k, '-') } }
        bar = put(bar, at(0), '|')
        if (has_bar[i]) { bar = put(bar, at(gain[i]), status_letter[status[i]]) }
        set label fit(name[i], title_width - 1) . ' ' . bar . '  ' . fit(gain_text[i], 10) . fit(days_text[i], 9) . fit(per_day_text[i], 11) . best_text[i] at character 0, character line left noenhanced
        line = line - 1
        if (strlen(remark[i]) > 0) { set label '  ' . fit(remark[i], columns - 6) at character 0, character line left noenhanced }
    }
    line = line - 1
    low_text = sprintf('%+.0f', x_min); high_text = sprintf('%+.0f', x_max)
    set label repeat(' ', title_width) . fit(low_text, at(0) - 1) . fit('0', wide - at(0) + 1 - strlen(high_text)) . high_text at character 0, character line left
    line = line - 1
    legend = ''
    do for [s = 1:4] { if (status_count[s] > 0) { legend = legend . status_letter[s] . ' ' . status_name[s] . '    ' } }
    set label legend at character 0, character line left
    plot [0:1][0:1] -1 notitle
}
