# What all pictures share. The palette is Okabe and Ito's, which colour-blind readers tell apart;
# series differ in the shape of their points too.
blue = '#0072B2'; vermillion = '#D55E00'; green = '#009E73'; pink = '#CC79A7'
orange = '#E69F00'; sky = '#56B4E9'; black = '#000000'; grey = '#8C8C8C'; ink = '#303030'
array series_color[7] = [blue, vermillion, green, pink, orange, sky, black]
array series_shape[7] = [7, 5, 9, 13, 11, 15, 3]
array series_letter[7] = ['o', 'x', '+', '*', '#', '@', '%']
set datafile separator "\t"
set termoption noenhanced
set border 3 linecolor rgb '#606060'
set tics nomirror out scale 0.6 textcolor rgb ink
set grid linetype 1 linewidth 0.5 linecolor rgb '#E0E0E0'
set key textcolor rgb ink
set title textcolor rgb ink
set style fill solid noborder
if (in_terminal) { unset grid; set tics in }
# 43008 -> "42 KiB": ticks of a size axis.
size_label(x) = x < 1024 ? sprintf('%g B', x) : x < 1024**2 ? sprintf('%g KiB', x / 1024) : \
    x < 1024**3 ? sprintf('%g MiB', x / 1024**2) : sprintf('%g GiB', x / 1024**3)
# Title and subtitle; a terminal cuts the second to its width, for a title that is too long is dropped.
head(first, second) = first . "\n" . (in_terminal && strlen(second) > columns - 4 ? second[1:columns - 6] . '~' : second)
