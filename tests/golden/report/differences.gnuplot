set encoding utf8
set terminal pdfcairo noenhanced size 7.5in,1.67in background rgb 'white'
set title 'Differences inside blocks' noenhanced
set xlabel 'time per sample, % more' noenhanced
set ylabel '' noenhanced
set grid lc rgb '#d5d5d5' lt 1
set key top right
set ytics ('batch=127' 0, 'batch=129' 1, 'beside powers of two' 2) noenhanced
set yrange [2.5:-0.5]
set object 1 rectangle from first -1, graph 0 to first 1, graph 1 behind fc rgb '#e6e6e6' fs solid noborder
$s0 << EOD
 1.888 0 0.372277228 3.42914573 0
 3.670274 1 1.12175103 6.26976744 0
 3.03034826 2 0.759803922 4.096 1
EOD
plot $s0 using 1:2:3:4 with xerrorbars lw 1.5 dt 1 pt 0 lc rgb '#0072B2' notitle, \
$s0 using 1:($5 > 0 ? $2 : NaN) with points pt 13 ps 1.6 lc rgb '#0072B2' notitle, \
$s0 using 1:($5 > 0 ? NaN : $2) with points pt 7 ps 1 lc rgb '#0072B2' notitle
